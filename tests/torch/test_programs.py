"""The programs of bench/torch, captured in exact mode: results, parameters, grads and optimisers are eager's, to the bit."""

import os
import sys

import pytest
import torch

from shunt_torch import _C, capture

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "bench", "torch"))
from picture import draw  # noqa: E402
from programs import PROGRAMS  # noqa: E402
from rows import ROWS  # noqa: E402

STEPS = 10


def tensors_of(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_has_eager_bits(name):
    eager, work = PROGRAMS[name](), PROGRAMS[name]()
    captured = capture(work.step, check="always")
    for i in range(3 + STEPS):
        expected = eager.step(*eager.calls[i % len(eager.calls)])
        got = captured(*work.calls[i % len(work.calls)])
        for ours, theirs in zip(tensors_of(got), tensors_of(expected), strict=True):
            assert ours.requires_grad == theirs.requires_grad
            assert _C.same_bits(ours.detach(), theirs.detach()), f"result of call {i}"
        for ours, theirs in zip(work.tensors(), eager.tensors(), strict=True):
            assert _C.same_bits(ours.detach(), theirs.detach()), f"state after call {i}"
    assert sum(r.runs for r in captured._recordings) == STEPS, captured.explain()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(), (7,), (5, 3)])
def test_loops_over_lists_are_fused_to_the_bit(shape, dtype):
    torch.manual_seed(0)
    given, factor = [torch.randn(shape, dtype=dtype) for _ in range(3)], torch.rand((), dtype=dtype)

    def step(tensors, factor):
        torch._foreach_add_(tensors, 1)
        torch._foreach_mul_(tensors, factor)
        torch._foreach_mul_(tensors, 0.3)
        torch._foreach_sub_(tensors, 0.1)
        torch._foreach_div_(tensors, 3)
        torch._foreach_div_(tensors, factor)

    eager, ours = [t.clone() for t in given], [t.clone() for t in given]
    captured = capture(step, check="always")
    for _ in range(6):
        step(eager, factor)
        captured(ours, factor)
    for a, b in zip(ours, eager, strict=True):
        assert _C.same_bits(a, b) and a._version == b._version
    (recording,) = captured._recordings
    assert recording.runs == 3 and {kind for kind, _, _ in recording.describe()} == {"fused"}, captured.explain()


def test_rows_are_programs_and_drawn():
    assert [r.name for r in ROWS] == list(PROGRAMS)
    rows = [{"title": "a < b", "us": {"eager": 100.0, "exact": 10.0}, "ratio": {"exact": 10.0}}]
    picture = draw("about", rows)
    assert "a &lt; b" in picture and "10.0x" in picture and picture.endswith("</svg>\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_is_replayed_unchecked(name):
    eager, work = PROGRAMS[name](), PROGRAMS[name]()
    captured = capture(work.step, check="never")
    for i in range(3 + STEPS):
        expected = eager.step(*eager.calls[i % len(eager.calls)])
        got = captured(*work.calls[i % len(work.calls)])
    for ours, theirs in zip([*tensors_of(got), *work.tensors()], [*tensors_of(expected), *eager.tensors()], strict=True):
        assert _C.same_bits(ours.detach(), theirs.detach())
    assert sum(r.runs for r in captured._recordings) == STEPS, captured.explain()


def test_constants_that_batch_norm_writes():
    """Its schema doesn't say so."""
    def step(x):
        mean, var = torch.zeros(4), torch.ones(4)
        y = torch.nn.functional.batch_norm(x, mean, var, training=True)
        return y, mean * 2, var * 2

    captured = capture(torch.no_grad()(step), check="never")
    for i in range(7):
        x = torch.randn(8, 4, generator=torch.Generator().manual_seed(i))
        assert all(map(torch.equal, captured(x), step(x)))
    assert captured._recordings[0].runs == 4


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_windows_of_a_series(numerics):
    """Arguments that are views of one tensor, and move."""
    series = torch.randn(200, generator=torch.Generator().manual_seed(0))

    def make(dtype=torch.float32):
        torch.manual_seed(1)
        model = torch.nn.Linear(8, 1).to(dtype)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

        def step(x, y):
            optimizer.zero_grad()
            loss = (model(x.reshape(2, 4).t().reshape(-1)) - y).square().sum() + (x[1:3] * x[::4]).sum() * 0.1
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    captured, eager, check = capture(make(), numerics=numerics, check="never"), make(), capture(make(), numerics=numerics, check="always")
    for i in range(60):
        x, y = series[i:i + 8], series[i + 8:i + 9]
        got, expected = captured(x, y), eager(x, y)
        check(x, y)
        assert torch.equal(got, expected) if numerics == "exact" else torch.allclose(got, expected, rtol=1e-4)
    assert captured._recordings[0].runs == check._recordings[0].runs == 57


def test_windows_that_are_written():
    """The memory of one may be that of another."""
    def step(x, y):
        y.add_(x * 2)
        return y.mul_(x + 1).clone()

    captured = capture(torch.no_grad()(step), check="never")
    for shift in [1] * 5 + [2, -1, 3]:
        series, expected = (torch.arange(30.0) for _ in range(2))
        assert torch.equal(captured(series[5:15], series[5 + shift:15 + shift]), step(expected[5:15], expected[5 + shift:15 + shift]))
        assert torch.equal(series, expected)
    assert captured._recordings[-1].runs == 2
