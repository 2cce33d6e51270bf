"""Forms of operators that the dictionary doesn't have, and arguments that PyTorch 2.13 has defaults for and 1.13 had
not."""

import pytest

import shunt


def x():
    return shunt.tensor([[[1.25, 2.0], [3.75, 0.0]]])


def test_squeeze_of_several_dimensions():
    y = shunt.ones(1, 2, 1)
    assert y.squeeze((0, 2)).shape == shunt.squeeze(y, dim=(0, -1)).shape == (2,)
    assert y.squeeze((0, 1)).shape == (2, 1)
    assert y.squeeze(()).shape == (1, 2, 1)
    assert y.squeeze_((0, 2)) is y and y.shape == (2,)
    with pytest.raises(RuntimeError, match="multiple times"):
        shunt.ones(1, 1).squeeze((0, -2))
    with pytest.raises(IndexError, match="range"):
        shunt.ones(1, 1).squeeze((3,))


def test_split_into_sizes():
    assert [t.tolist() for t in shunt.arange(5).split([2, 3])] == [[0, 1], [2, 3, 4]]
    assert [t.shape for t in shunt.split(x(), (1, 1), dim=2)] == [(1, 2, 1)] * 2


def test_all_and_any_over_several_dimensions():
    assert x().all(dim=(0, 1)).tolist() == [True, False]
    assert x().any(dim=(1, 2), keepdim=True).shape == (1, 1, 1)
    assert shunt.all(x(), axis=(0, 1)).tolist() == [True, False]
    assert shunt.any(x(), dim=None).item() is True
    out = shunt.empty(0, dtype=shunt.bool)
    assert shunt.all(x(), dim=(0, 2), out=out) is out and out.tolist() == [True, False]


def test_round_to_decimals():
    assert shunt.tensor([1.256, -0.004]).round(decimals=2).tolist() == pytest.approx([1.26, -0.0])
    assert shunt.tensor([1256.0]).round(decimals=-2).item() == 1300.0
    y = shunt.tensor([0.25])
    assert y.round_(decimals=1) is y and y.item() == pytest.approx(0.2)
    with pytest.raises(NotImplementedError):
        shunt.tensor([1]).round(decimals=2)


def test_extremes_with_out():
    out = shunt.empty(())
    assert shunt.max(x(), out=out) is out and out.item() == 3.75
    assert shunt.min(x(), out=out).item() == 0.0


def test_places_as_tuple():
    assert [t.tolist() for t in shunt.tensor([[0, 1], [2, 0]]).nonzero(as_tuple=True)] == [[0, 1], [1, 0]]
    assert shunt.tensor(3).nonzero(as_tuple=True)[0].tolist() == [0]


def test_norms():
    y = shunt.tensor([[3.0, 4.0]])
    assert y.norm().item() == shunt.norm(y, "fro").item() == 5.0
    assert shunt.norm(y, dim=1, keepdim=True).tolist() == [[5.0]]
    assert shunt.norm(y, p=1, dim=(0, 1)).item() == 7.0
    with pytest.raises(NotImplementedError, match="singular"):
        y.norm("nuc")


def test_normal_of_tensors():
    mean, std = shunt.tensor([0.0, 100.0]), shunt.tensor([0.0, 1.0])
    assert shunt.normal(mean, std).tolist()[0] == 0.0
    assert shunt.normal(0.0, std.expand(3, 2)).shape == (3, 2)
    assert shunt.normal(mean).shape == (2,)
    with pytest.raises(RuntimeError, match="std"):
        shunt.normal(mean, -1.0)


def test_what_may_be_left_out():
    y = shunt.tensor([[1.0, 2.0], [3.0, 6.0]])
    assert y.var(correction=0).item() == 3.5
    assert shunt.std(y, dim=0, correction=1).tolist() == pytest.approx([2**0.5, 8**0.5])
    variance, mean = shunt.var_mean(y, correction=0)
    assert variance.item() == 3.5 and mean.item() == 3.0
    out = shunt.empty(())
    assert shunt.mean(y, out=out).item() == 3.0 and shunt.std(y, out=out).item() > 0


def test_factories_with_out_take_its_options():
    out = shunt.empty(0)
    assert shunt.zeros((2, 3), dtype=shunt.float32, device="cpu", out=out) is out and out.shape == (2, 3)
    assert shunt.arange(3, out=shunt.empty(0, dtype=shunt.int64), dtype=shunt.int64).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="does not match dtype of out"):
        shunt.ones((2,), dtype=shunt.int64, out=out)
    with pytest.raises(TypeError, match="dtype"):
        shunt.ones((2,), dtype="float32", out=out)


@pytest.mark.parametrize("index", [shunt.int32, shunt.int64])
def test_indices_of_both_dtypes(index):
    i = shunt.tensor([[1, 0]], dtype=index)
    y = shunt.tensor([[1.0, 2.0]], requires_grad=True)
    picked = y.gather(1, i)
    assert picked.tolist() == [[2.0, 1.0]]
    picked.square().sum().backward()
    assert y.grad.tolist() == [[2.0, 4.0]]
    assert shunt.zeros(1, 2).scatter(1, i, shunt.tensor([[5.0, 6.0]])).tolist() == [[6.0, 5.0]]
    assert shunt.zeros(1, 2).scatter_add(1, i, shunt.ones(1, 2)).tolist() == [[1.0, 1.0]]


def test_take_along_a_dimension_from_the_end():
    y = shunt.tensor([[1, 2, 3], [4, 5, 6]])
    assert y.take_along_dim(shunt.tensor([[-1], [0]]), 1).tolist() == [[3], [4]]
    assert y.take_along_dim(shunt.tensor([-1, -6])).tolist() == [6, 1]
    with pytest.raises(RuntimeError, match="out of bounds"):
        y.take_along_dim(shunt.tensor([[-4], [0]]), 1)


@pytest.mark.parametrize(
    "call, parts",
    [
        (lambda: shunt.squeeze(x(), dims=1), ["squeeze()", "unexpected keyword argument 'dims'", "did you mean 'dim'"]),
        (lambda: x().round(decimals="a"), ["round()", "decimals"]),
        (lambda: x().all(dim="a"), ["all()", "dim"]),
        (lambda: shunt.norm(x(), dim="a"), ["norm()"]),
        (lambda: shunt.max(x(), out=3), ["max()"]),
    ],
)
def test_messages_stay(call, parts):
    with pytest.raises(TypeError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)
