"""Fast mode: Shunt's functions, sums and products, within their bounds of what is right."""

import math

import mpmath  # PyTorch requires it, by SymPy
import pytest
import torch
from torch import nn

from shunt_torch import CheckFailed, capture

# Each with the same in as many bits as one likes, and the values between which it is tried.
FUNCTIONS = {
    "sqrt": (torch.sqrt, mpmath.sqrt, 0, 1e6),
    "rsqrt": (torch.rsqrt, lambda x: 1 / mpmath.sqrt(x), 1e-6, 1e6),
    "reciprocal": (torch.reciprocal, lambda x: 1 / x, 1e-6, 1e6),
    "exp": (torch.exp, mpmath.exp, -80, 80),
    "expm1": (torch.expm1, mpmath.expm1, -20, 80),
    "log": (torch.log, mpmath.log, 1e-30, 1e30),
    "log, near 1": (torch.log, mpmath.log, 0.5, 2),
    "log1p": (torch.log1p, mpmath.log1p, -0.99, 1e10),
    "log1p, near 0": (torch.log1p, mpmath.log1p, -0.5, 0.5),
    "sin": (torch.sin, mpmath.sin, -100, 100),
    "cos": (torch.cos, mpmath.cos, -100, 100),
    "tanh": (torch.tanh, mpmath.tanh, -10, 10),
    "tanh, near 0": (torch.tanh, mpmath.tanh, -0.1, 0.1),
    "sigmoid": (torch.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x)), -30, 30),
    "erf": (torch.erf, mpmath.erf, -4, 4),
    "pow": (lambda x: x.pow(1.5), lambda x: x * mpmath.sqrt(x), 0, 1e6),
}


def fused(captured):
    return [name for place, name, _ in captured._recordings[0].describe() if place == "fused"]


def ulps(got, right):
    """Distance in units of the last place of the correctly rounded value; `right`: numbers of mpmath."""
    rounded = torch.tensor([float(r) for r in right], dtype=torch.float64).to(got.dtype)
    place = torch.nextafter(rounded.abs(), torch.tensor(math.inf, dtype=got.dtype)) - rounded.abs()
    return ((got - rounded).abs() / place).max().item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_within_2_ulp_of_the_correctly_rounded_value(name, dtype):
    function, reference, low, high = FUNCTIONS[name]
    captured = capture(torch.no_grad()(lambda x: function(x)), numerics="fast", check="never")
    generator = torch.Generator().manual_seed(2)
    with mpmath.workprec(200):
        for _ in range(5):
            x = torch.rand(1027, generator=generator, dtype=dtype) * (high - low) + low
            got = captured(x)
        assert ulps(got, [reference(mpmath.mpf(v)) for v in x.tolist()]) <= 2
    assert fused(captured) and captured._recordings[0].runs == 2


@pytest.mark.parametrize("terms", [3, 64, 1000])
def test_sums_and_products_are_within_eagers_bound(terms):
    eps = torch.finfo(torch.float32).eps
    captured = capture(torch.no_grad()(lambda a, b: (a.sum(1), a.mean(0), a @ b)), numerics="fast")
    generator = torch.Generator().manual_seed(3)
    for _ in range(8):
        a, b = torch.randn(17, terms, generator=generator), torch.randn(terms, 9, generator=generator)
        rows, means, product = captured(a, b)
        x, y = a.double(), b.double()
        assert ((rows - x.sum(1)).abs() <= terms * eps * x.abs().sum(1)).all()
        assert ((means - x.mean(0)).abs() <= 17 * eps * x.abs().mean(0)).all()
        assert ((product - x @ y).abs() <= terms * eps * (x.abs() @ y.abs())).all()
    assert len(fused(captured)) == 3


def training(dtype, optimizer):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 4)).to(dtype)
    update = optimizer(model.parameters())

    def step(x, y):
        update.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y.softmax(1))
        loss.backward()
        update.step()
        return loss

    return model, step


@pytest.mark.parametrize("optimizer", [lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: torch.optim.Adam(p, lr=1e-3, fused=True)],
                         ids=["SGD", "Adam"])
def test_after_20_steps_it_is_no_further_from_float64_than_twice_eager(optimizer):
    exact, exact_step = training(torch.float64, optimizer)
    eager, eager_step = training(torch.float32, optimizer)
    captured = capture(training(torch.float32, optimizer)[1], numerics="fast", check="always")
    replayed, replayed_step = training(torch.float32, optimizer)
    fast = capture(replayed_step, numerics="fast", check="never")
    generator = torch.Generator().manual_seed(4)
    for _ in range(20):
        x, y = torch.randn(32, 16, generator=generator), torch.randn(32, 4, generator=generator)
        exact_step(x.double(), y.double()), eager_step(x, y), captured(x, y), fast(x, y)

    def distance(model):
        return max((p.double() - q).norm().item() for p, q in zip(model.parameters(), exact.parameters()))

    assert len(fused(captured)) > 20, captured.explain()
    assert captured._recordings[0].runs == fast._recordings[0].runs == 17
    assert distance(replayed) <= 2 * distance(eager)


def test_a_difference_beyond_the_bound_is_found(monkeypatch):
    captured = capture(torch.no_grad()(lambda x: x.exp() + 1), numerics="fast", check="always")
    for _ in range(4):
        captured(torch.ones(3))
    monkeypatch.setattr(type(captured._recordings[0]), "check_operators", lambda self, inputs: "aten::exp: element 0 is too far apart")
    with pytest.raises(CheckFailed, match="aten::exp: element 0"):
        captured(torch.ones(3))


def test_numerics_are_checked():
    with pytest.raises(ValueError, match="numerics: expected 'exact' or 'fast', got 'quick'"):
        capture(lambda x: x, numerics="quick")


def test_a_checked_call_that_throws_has_run_as_far():
    def count_and_pick(x, i, counts):
        counts.add_(1)
        return x.exp()[i]

    captured = capture(torch.no_grad()(count_and_pick), numerics="fast", check="always")
    x, counts = torch.randn(4), torch.zeros(2)
    for _ in range(5):
        captured(x, torch.tensor([1, 2]), counts)
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        captured(x, torch.tensor([9, 0]), counts)
    assert counts.tolist() == [6, 6]
    assert torch.equal(captured(x, torch.tensor([3, 0]), counts), x.exp()[[3, 0]])
    assert captured._recordings[0].runs == 4


def images(*shape, generator=torch.Generator().manual_seed(5)):
    return torch.randn(*shape, generator=generator)


@pytest.mark.parametrize("stride, padding", [(1, 1), (2, 0)])
def test_convolutions_are_within_eagers_bound(stride, padding):
    eps = torch.finfo(torch.float32).eps

    def step(x, w, b):
        y = torch.ops.aten.convolution(x, w, b, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1)
        return y, *torch.ops.aten.convolution_backward(y, x, w, [len(b)], [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1, [True] * 3)

    captured = capture(torch.no_grad()(step), numerics="fast", check="never")
    for _ in range(6):
        x, w, b = images(5, 3, 9, 8), images(4, 3, 3, 3), images(4)
        ours = captured(x, w, b)
        right = [t.double() for t in (x, w, b)]
        # The gradients are of our own y, as in step().
        y = ours[0].double()
        window = [[stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1]
        exact = [torch.ops.aten.convolution(*right, *window)]
        sums = [torch.ops.aten.convolution(*(t.abs() for t in right), *window)]
        exact += torch.ops.aten.convolution_backward(y, right[0], right[1], [4], *window, [True] * 3)
        sums += torch.ops.aten.convolution_backward(y.abs(), right[0].abs(), right[1].abs(), [4], *window, [True] * 3)
        places = 5 * y.shape[2] * y.shape[3]
        for got, want, magnitude, terms in zip(ours, exact, sums, [28, 36, places, places]):
            assert ((got.double() - want).abs() <= terms * eps * magnitude).all()
    assert fused(captured).count("aten::convolution") == fused(captured).count("aten::convolution_backward") == 1


OTHERS = {
    "smooth_l1_loss": lambda x, y, i: nn.functional.smooth_l1_loss(x, y),
    "smooth_l1_loss_backward": lambda x, y, i: torch.ops.aten.smooth_l1_loss_backward(x.new_ones(()) * x[0, 0], x, y, 1, 0.5),
    "linalg_vector_norm": lambda x, y, i: (torch.linalg.vector_norm(x), torch.linalg.vector_norm(x, 1, dim=1)),
    "rsub": lambda x, y, i: 1 - x,
    "native_batch_norm": lambda x, y, i: torch.ops.aten.native_batch_norm(x, y[0], y[1], None, None, True, 0.1, 1e-5),
    "scatter_add_": lambda x, y, i: x.new_zeros(x.shape).scatter_add_(1, i, y),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_within_their_bounds(name):
    captured = capture(torch.no_grad()(lambda x, y, i: OTHERS[name](x, y, i)), numerics="fast", check="always")
    for _ in range(8):
        captured(images(33, 6), images(33, 6), torch.randint(0, 6, (33, 6)))
    assert captured._recordings[0].runs == 5 and any(name in n for n in fused(captured)), captured.explain()


def test_an_index_out_of_range_is_pytorchs_error():
    captured = capture(torch.no_grad()(lambda x, i: x.gather(0, i) * 2), numerics="fast", check="never")
    x = torch.randn(5)
    for _ in range(5):
        captured(x, torch.tensor([3, 1]))
    assert "aten::gather" in fused(captured)
    with pytest.raises(RuntimeError, match="index 5 is out of bounds for dimension 0 with size 5"):
        captured(x, torch.tensor([3, 5]))
    assert torch.equal(captured(x, torch.tensor([0, 4])), x[[0, 4]] * 2)


def test_an_index_is_pytorchs_behind_a_write():
    """There its error can't begin again."""
    def step(x, i, counts):
        counts.add_(1)
        return x.gather(0, i)

    captured = capture(torch.no_grad()(step), numerics="fast", check="never")
    x, counts = torch.randn(5), torch.zeros(2)
    for _ in range(5):
        captured(x, torch.tensor([3, 1]), counts)
    assert "aten::gather" not in fused(captured) and captured._recordings[0].runs == 2
    with pytest.raises(RuntimeError, match="index 5 is out of bounds for dimension 0 with size 5"):
        captured(x, torch.tensor([3, 5]), counts)
    assert counts.tolist() == [6, 6]


def network(dtype):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3), nn.Flatten(),
                          nn.Linear(16, 3)).to(dtype)
    update = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def step(x, y):
        update.zero_grad()
        loss = nn.functional.smooth_l1_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        update.step()
        return loss

    return model, step


def test_a_convolution_net_is_after_20_steps_no_further_from_float64_than_twice_eager():
    (exact, exact_step), (eager, eager_step), (replayed, replayed_step) = (network(d) for d in (torch.float64, torch.float32, torch.float32))
    captured = capture(replayed_step, numerics="fast", check="never")
    checked = capture(network(torch.float32)[1], numerics="fast", check="always")
    for _ in range(20):
        x, y = images(8, 2, 8, 8), images(8, 3)
        exact_step(x.double(), y.double()), eager_step(x, y), captured(x, y), checked(x, y)

    def distance(model):
        mine, theirs = model.state_dict(), exact.state_dict()
        return max((mine[k].double() - theirs[k].double()).norm().item() for k in mine)

    for name in ("native_batch_norm", "convolution_backward", "max_pool2d_with_indices", "linalg_vector_norm", "smooth_l1_loss"):
        assert f"aten::{name}" in fused(captured), captured.explain()
    assert captured._recordings[0].runs == checked._recordings[0].runs == 17
    assert distance(replayed) <= 2 * distance(eager)
