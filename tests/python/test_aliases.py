"""Other names of operators, and functions that are made of several."""

import inspect
import math

import pytest

import shunt

ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "divide": "div",
    "fix": "trunc",
    "ger": "outer",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "moveaxis": "movedim",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "row_stack": "vstack",
    "sgn": "sign",
    "subtract": "sub",
}


@pytest.mark.parametrize("alias, name", ALIASES.items())
def test_aliases_are_functions_and_methods_of_the_operator(alias, name):
    assert f"Another name of {name}()." in getattr(shunt, alias).__doc__
    for suffix in ("", "_"):
        assert hasattr(shunt.Tensor, alias + suffix) == hasattr(shunt.Tensor, name + suffix), alias + suffix


def test_aliases_take_what_the_operator_takes():
    x = shunt.tensor([-2.0, 0.5, 3.0])
    assert shunt.clip(x, max=1.0).tolist() == x.clamp(max=1.0).tolist() == [-2.0, 0.5, 1.0]
    out = shunt.empty(3)
    assert shunt.subtract(x, 1, alpha=2, out=out) is out and out.tolist() == [-4.0, -1.5, 1.0]
    y = x.clone()
    assert y.clip_(0, 1) is y and y.tolist() == [0.0, 0.5, 1.0]
    assert shunt.concat([x, x], dim=0).shape == (6,)


def test_messages_name_the_alias():
    with pytest.raises(TypeError, match=r"clip\(\)"):
        shunt.clip("a")
    with pytest.raises(TypeError, match=r"subtract\(\)"):
        shunt.ones(2).subtract("a")


def test_every_composite_says_what_it_does():
    for name in shunt._composites.__all__:
        assert inspect.getdoc(getattr(shunt, name)), name
    for name, method in shunt._composites.METHODS.items():
        assert inspect.getdoc(method), name
        assert hasattr(shunt.Tensor, name), name


def test_transposes():
    x = shunt.arange(6.0).reshape(1, 2, 3)
    assert x.T.shape == (3, 2, 1) and x.mT.shape == (1, 3, 2) and x[0].H.shape == (3, 2)
    assert x.T.data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="Tensor.H: expected 2 dimensions, got 3"):
        x.H
    with pytest.raises(RuntimeError, match="Tensor.mT: expected 2 dimensions or more"):
        shunt.ones(2).mT
    assert x.movedim(0, -1).shape == (2, 3, 1) and x.moveaxis((0, 1), (1, 0)).shape == (2, 1, 3)
    assert shunt.swapaxes(x, axis0=0, axis1=2).shape == (3, 2, 1)


def test_stacks_and_splits():
    a, b = shunt.tensor([1, 2]), shunt.tensor([3, 4])
    assert shunt.hstack([a, b]).tolist() == [1, 2, 3, 4]
    assert shunt.vstack([a, b]).tolist() == [[1, 2], [3, 4]]
    assert shunt.column_stack([a, b]).tolist() == [[1, 3], [2, 4]]
    assert shunt.tile(a, (2, 2)).tolist() == [[1, 2, 1, 2]] * 2
    assert [t.tolist() for t in shunt.tensor_split(shunt.arange(5), 3)] == [[0, 1], [2, 3], [4]]
    assert [t.tolist() for t in shunt.arange(5).tensor_split((1, 3))] == [[0], [1, 2], [3, 4]]
    x, y = shunt.meshgrid(a, b, indexing="xy")
    assert x.tolist() == [[1, 2], [1, 2]] and y.tolist() == [[3, 3], [4, 4]]


def test_statistics():
    x = shunt.tensor([[1.0, 5.0, math.nan], [4.0, 2.0, 3.0]])
    values, places = x.median(1)
    assert math.isnan(values[0]) and values[1] == 3.0 and places.tolist() == [2, 2]
    assert x.nanmedian(1).values.tolist() == [1.0, 3.0]
    assert x.nansum().item() == 15.0 and x.nanmean().item() == 3.0
    assert x[1].quantile(0.5).item() == 3.0
    assert shunt.aminmax(x[1]).max.item() == 4.0
    assert x.count_nonzero(dim=1).tolist() == [3, 3]
    assert shunt.bincount(shunt.tensor([0, 2, 2])).tolist() == [1, 0, 2]
    assert shunt.searchsorted(shunt.tensor([1, 3, 5]), shunt.tensor([3, 6]), right=True).tolist() == [2, 3]


def test_places():
    x = shunt.tensor([[0, 1], [2, 0]])
    assert [t.tolist() for t in x.nonzero(as_tuple=True)] == [[0, 1], [1, 0]]
    assert x.argwhere().tolist() == [[0, 1], [1, 0]]
    assert x.index_fill(1, shunt.tensor([0]), 9).tolist() == [[9, 1], [9, 0]]
    assert x.take(shunt.tensor([0, -2])).tolist() == [0, 2]
    assert x.masked_scatter(x > 0, shunt.tensor([7, 8])).tolist() == [[0, 7], [8, 0]]


def test_gradients_pass_composites():
    x = shunt.tensor([0.5, 1.5], requires_grad=True)
    (x.sinh() + x.log2() + shunt.hypot(x, x) + x.logit(eps=0.1)).sum().backward()
    expected = math.cosh(0.5) + 1 / (0.5 * math.log(2)) + math.sqrt(2) + 4
    assert math.isclose(x.grad[0].item(), expected, rel_tol=1e-5)
    y = shunt.tensor([3.0, 1.0, 2.0], requires_grad=True)
    y.median(0).values.backward()
    assert y.grad.tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: shunt.fmax(1, 2), TypeError),
        (lambda: shunt.hstack([]), RuntimeError),
        (lambda: shunt.hstack("a"), TypeError),
        (lambda: shunt.movedim(shunt.ones(2, 2), (0, 0), (0, 1)), RuntimeError),
        (lambda: shunt.movedim(shunt.ones(2, 2), 5, 0), IndexError),
        (lambda: shunt.rot90(shunt.ones(2)), RuntimeError),
        (lambda: shunt.kthvalue(shunt.ones(3), 4), RuntimeError),
        (lambda: shunt.quantile(shunt.ones(3), 1.5), RuntimeError),
        (lambda: shunt.take(shunt.ones(0), shunt.tensor([0])), IndexError),
        (lambda: shunt.broadcast_shapes((2,), (3,)), RuntimeError),
        (lambda: shunt.linalg.matrix_norm(shunt.ones(2, 2), "nuc"), NotImplementedError),
        (lambda: shunt.frac(shunt.tensor([1])), NotImplementedError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        call()
