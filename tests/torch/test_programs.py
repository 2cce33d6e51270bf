"""The programs of bench/torch, captured in exact mode: results, parameters, grads and optimisers are eager's, to the bit."""

import os
import sys

import pytest
import torch

from shunt_torch import _C, capture

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "bench", "torch"))
from programs import PROGRAMS  # noqa: E402

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
