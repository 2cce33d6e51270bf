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
