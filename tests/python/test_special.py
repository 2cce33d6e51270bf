"""Functions of each element beyond arithmetic, and composites of layers: values, dtypes, gradients, errors."""

import math

import pytest

import shunt

X = [-2.5, -0.75, 0.0, 0.3, 1.5]


@pytest.mark.parametrize(
    "name, function, low, high",
    [
        ("tan", math.tan, -9, 9),
        ("asin", math.asin, -1, 1),
        ("acos", math.acos, -1, 1),
        ("atan", math.atan, -9, 9),
        ("sinh", math.sinh, -9, 9),
        ("cosh", math.cosh, -9, 9),
        ("asinh", math.asinh, -9, 9),
        ("acosh", math.acosh, 1, 9),
        ("atanh", math.atanh, -0.99, 0.99),
        ("exp2", lambda x: 2.0**x, -9, 9),
        ("log2", math.log2, 0.1, 9),
        ("log10", math.log10, 0.1, 9),
        ("erfc", math.erfc, -4, 9),
        ("lgamma", math.lgamma, 0.1, 30),
        ("deg2rad", math.radians, -400, 400),
        ("rad2deg", math.degrees, -9, 9),
    ],
)
def test_functions_of_one_number(name, function, low, high):
    x = shunt.linspace(low, high, 1001, dtype=shunt.float64)
    expected = [function(v) for v in x.tolist()]
    assert getattr(shunt, name)(x).tolist() == pytest.approx(expected, rel=1e-14, abs=1e-14)
    assert getattr(x.float(), name)().tolist() == pytest.approx(
        [function(v) for v in x.float().clamp(low, high).tolist()], rel=3e-7, abs=1e-6
    )
    assert getattr(shunt, name)(shunt.tensor([1, 1])).dtype is shunt.float32
    y = x.clone()
    assert getattr(y, name + "_")() is y and y.tolist() == getattr(x, name)().tolist()
    out = shunt.empty(0, dtype=shunt.float64)
    assert getattr(shunt, name)(x, out=out) is out and out.tolist() == y.tolist()
    with pytest.raises(RuntimeError, match="can't be cast"):
        getattr(shunt.tensor([1]), name + "_")()


@pytest.mark.parametrize(
    "name, function",
    [
        ("atan2", math.atan2),
        ("hypot", math.hypot),
        ("copysign", math.copysign),
        ("logaddexp", lambda a, b: math.log(math.exp(a) + math.exp(b))),
        ("logaddexp2", lambda a, b: math.log2(2**a + 2**b)),
        ("fmax", max),
        ("fmin", min),
        ("nextafter", lambda a, b: math.nextafter(a, b)),
        ("ldexp", lambda a, b: a * 2**b),
    ],
)
def test_functions_of_two_numbers(name, function):
    a = shunt.tensor(X, dtype=shunt.float64).unsqueeze(1)
    b = shunt.tensor(X[::-1], dtype=shunt.float64)
    expected = [[function(v, w) for w in b.tolist()] for v in X]
    result = getattr(shunt, name)(a, b)
    assert result.shape == (5, 5) and result.tolist() == [pytest.approx(row, rel=1e-14) for row in expected]


def test_special_values():
    inf, nan = math.inf, math.nan
    x = shunt.tensor([nan, inf, -inf, 2.0])
    assert x.nan_to_num(nan=1, posinf=3, neginf=-4).tolist() == [1, 3, -4, 2]
    assert shunt.nan_to_num(x.half()).tolist()[1:3] == [65504.0, -65504.0]
    assert shunt.isposinf(x).tolist() == [False, True, False, False]
    assert shunt.isneginf(x).tolist() == [False, False, True, False]
    assert shunt.signbit(shunt.tensor([-0.0, 0.0, -1.0])).tolist() == [True, False, True]
    assert shunt.fmax(x, shunt.ones(4)).tolist() == [1, inf, 1, 2]
    assert shunt.logaddexp(x[1:], x[1:]).tolist()[:2] == [inf, -inf]
    assert shunt.heaviside(shunt.tensor([-1.0, 0.0, 2.0]), shunt.tensor(0.5)).tolist() == [0, 0.5, 1]
    assert shunt.xlogy(shunt.tensor([0.0, 0.0]), shunt.tensor([0.0, nan])).tolist()[0] == 0
    assert shunt.xlogy(2, shunt.tensor([math.e], dtype=shunt.float64)).item() == pytest.approx(2)
    with pytest.raises(RuntimeError, match="different dtypes"):
        shunt.heaviside(shunt.tensor([1]), shunt.tensor([1.0]))
    with pytest.raises(RuntimeError, match="expected Bool"):
        shunt.signbit(x, out=shunt.empty(4))
    with pytest.raises(NotImplementedError):
        shunt.hypot(shunt.tensor([1]), shunt.tensor([1]))


def test_shifts():
    x = shunt.tensor([1, -8, 3])
    assert (x << 2).tolist() == [4, -32, 12] and (x >> 1).tolist() == [0, -4, 1]
    assert (1 << shunt.tensor([0, 5])).tolist() == [1, 32]
    assert (x << 64).tolist() == [0, 0, 0] and (x >> 64).tolist() == [0, -1, 0] and (x << -1).tolist() == [0, 0, 0]
    assert (shunt.tensor([200], dtype=shunt.uint8) << 1).tolist() == [144]
    y = x.clone()
    y <<= 1
    assert y.tolist() == [2, -16, 6]
    with pytest.raises(NotImplementedError):
        shunt.ones(2) << 1


def test_gradients_of_gamma():
    x = shunt.tensor([0.5, 1.5, 4.0], dtype=shunt.float64, requires_grad=True)
    assert shunt.autograd.gradcheck(lambda t: (t.lgamma(), t.digamma(), t.polygamma(2)), (x,))
    (grad,) = shunt.autograd.grad(x.lgamma().sum(), x)
    assert grad.tolist() == x.digamma().tolist()
    with pytest.raises(RuntimeError, match="negative"):
        shunt.polygamma(-1, x)


def test_vmap_and_compile_agree_with_plain_calls():
    x, y = shunt.rand(3, 7), shunt.rand(3, 7)

    def f(a, b):
        return shunt.atan2(a.tan(), b.sinh()) + shunt.hypot(a, b).log2().erfc()

    expected = f(x, y)
    assert shunt.func.vmap(f)(x, y).tolist() == expected.tolist()
    assert shunt.compile(f)(x, y).tolist() == expected.tolist()


def test_cells():
    x, h, c = shunt.randn(2, 3), shunt.randn(2, 4), shunt.randn(2, 4)
    cell = shunt.nn.LSTMCell(3, 4)
    new = shunt.lstm_cell(x, [h, c], cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    for a, b in zip(new, cell(x, (h, c))):
        assert shunt.allclose(a, b, atol=1e-6)
    cell = shunt.nn.GRUCell(3, 4)
    new = shunt.gru_cell(x, h, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    assert shunt.allclose(new, cell(x, h), atol=1e-6)
    with pytest.raises(RuntimeError, match="two hidden states"):
        shunt.lstm_cell(x, [h], cell.weight_ih, cell.weight_hh)


def test_repeat_interleave():
    x = shunt.tensor([[1, 2], [3, 4]])
    assert shunt.repeat_interleave(x, 2).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert x.repeat_interleave(2, dim=1).tolist() == [[1, 1, 2, 2], [3, 3, 4, 4]]
    assert x.repeat_interleave(shunt.tensor([1, 2]), dim=0).tolist() == [[1, 2], [3, 4], [3, 4]]
    assert shunt.repeat_interleave(shunt.tensor([0, 2, 0, 1])).tolist() == [1, 1, 3]
    with pytest.raises(RuntimeError, match="negative"):
        shunt.repeat_interleave(shunt.tensor([-1]))


def test_stacks_and_views():
    a, b = shunt.tensor([1, 2]), shunt.tensor([3, 4])
    assert shunt.hstack((a, b)).tolist() == [1, 2, 3, 4] and shunt.vstack((a, b)).tolist() == [[1, 2], [3, 4]]
    assert shunt.column_stack((a, b)).tolist() == [[1, 3], [2, 4]] and shunt.dstack((a, b)).shape == (1, 2, 2)
    with pytest.raises(RuntimeError, match="non-empty"):
        shunt.hstack([])
    x = shunt.zeros(2, 3, 4)
    assert x.movedim(0, -1).shape == (3, 4, 2) and shunt.moveaxis(x, (0, 1), (1, 2)).shape == (4, 2, 3)
    with pytest.raises(RuntimeError, match="repeated"):
        x.movedim((0, 0), (1, 2))
    assert shunt.fliplr(shunt.tensor([[1, 2]])).tolist() == [[2, 1]] and x.ravel().shape == (24,)


def test_polygamma_next_to_poles():
    x = shunt.tensor([-1e-20, -1e-5, 1e-5, -1 - 1e-7, -1 + 1e-7], dtype=shunt.float64)
    # Next to -k the term 1 / (x + k)^(n + 1) is all that counts.
    distance = [-1e-20, -1e-5, 1e-5, float(x[3]) + 1, float(x[4]) + 1]
    assert shunt.polygamma(2, x).tolist() == pytest.approx([-2 / d**3 for d in distance], rel=1e-9)
    assert shunt.polygamma(3, x).tolist() == pytest.approx([6 / d**4 for d in distance], rel=1e-9)


def test_i0():
    x = shunt.tensor([0.0, 1.0, -2.5, 30.0], dtype=shunt.float64)
    # Of SciPy's i0.
    expected = [1.0, 1.2660658777520084, 3.2898391440501231, 781672297823.97748]
    assert shunt.allclose(shunt.i0(x), shunt.tensor(expected, dtype=shunt.float64), rtol=1e-14)
    assert shunt.special.i0 is shunt.i0 and shunt.i0(shunt.tensor([1, 2])).dtype is shunt.float32
    assert shunt.autograd.gradcheck(shunt.i0, x[1:3].clone().requires_grad_())
