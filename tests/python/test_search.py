"""Counts, searches, medians, distinct elements and resampled images, as operators: against PyTorch's."""

import math

import pytest

torch = pytest.importorskip("torch")

import shunt  # noqa: E402
from twins import close, outcome, same  # noqa: E402

NAN = math.nan


def check(program):
    """Compares results as numbers, and of errors the type."""
    if isinstance(outcome(program, torch), tuple):
        same(program)
    else:
        close(program)


def rows(L):
    return L.tensor([[3.0, 1.0, NAN, 2.0, 2.0], [1.0, 0.0, -1.0, 5.0, 4.0]])


@pytest.mark.parametrize(
    "program",
    [
        lambda L: L.tile(L.tensor([1, 2]), (2, 2)),
        lambda L: L.tensor([[1, 2], [3, 4]]).tile(2),
        lambda L: L.tensor(1).tile(2, 2),
        lambda L: L.ones(2, 2).tile(-1),
        lambda L: rows(L).swapaxes(0, 1).shape,
        lambda L: L.swapdims(rows(L), dim0=0, dim1=-1).stride(),
        lambda L: [x := L.arange(6).reshape(2, 3), x.swapaxes_(0, 1), x.shape, x.swapdims_(-1, 0), x.shape],
        lambda L: L.ones(2).swapaxes(0, 1),
        lambda L: L.bincount(L.tensor([0, 2, 2])),
        lambda L: L.tensor([0, 2, 2], dtype=L.uint8).bincount(minlength=5),
        lambda L: L.bincount(L.tensor([1, 1]), L.tensor([1, 2])),
        lambda L: L.bincount(L.tensor([1, 0, 1]), weights=L.tensor([0.5, 1.5, 2.0])),
        lambda L: L.bincount(L.zeros(0, dtype=L.int64), minlength=2),
        lambda L: L.bincount(L.tensor([-1])),
        lambda L: L.bincount(L.ones(1, 1, dtype=L.int64)),
        lambda L: L.bincount(L.tensor([1.0])),
        lambda L: L.bincount(L.tensor([1]), minlength=-1),
        lambda L: L.bincount(L.tensor([1]), L.ones(2)),
        lambda L: L.searchsorted(L.tensor([1.0, 3.0, 5.0]), L.tensor([[3.0, 6.0], [NAN, -math.inf]])),
        lambda L: L.searchsorted(L.tensor([1, 3, 3, 5]), L.tensor([3, 6, 0]), right=True),
        lambda L: L.searchsorted(L.tensor([[1, 3, 5], [2, 4, 6]]), L.tensor([[3, 6], [3, 6]]), side="right"),
        lambda L: L.searchsorted(L.tensor([1, 3, 5]), 3, out_int32=True),
        lambda L: L.searchsorted(L.tensor([1, 3, 5]), 3.5),
        lambda L: L.searchsorted(L.tensor([5, 1, 3]), L.tensor([4]), sorter=L.tensor([1, 2, 0])),
        lambda L: L.searchsorted(L.zeros(0), L.ones(2)),
        lambda L: L.searchsorted(L.tensor([1, 3]), L.tensor([2.5])),
        lambda L: L.searchsorted(L.tensor([1, 3]), L.tensor([2, 3]), out=L.zeros(0, dtype=L.int64)),
        lambda L: L.searchsorted(L.tensor([1, 3]), 2, side="middle"),
        lambda L: L.searchsorted(L.tensor([1, 3]), 2, side="left", right=True),
        lambda L: L.searchsorted(L.ones(2, 3), 2.0),
        lambda L: L.searchsorted(L.ones(2, 3), L.ones(3, 3)),
        lambda L: L.searchsorted(L.tensor([1, 3]), L.tensor([2]), sorter=L.tensor([0, 2])),
        lambda L: L.searchsorted(L.tensor([1, 3]), L.tensor([2]), sorter=L.tensor([0])),
        lambda L: L.searchsorted(L.tensor([False, True]), L.tensor([True])),
        lambda L: L.bucketize(L.tensor([[1, 4], [5, 9]]), L.tensor([1, 3, 5])),
        lambda L: L.bucketize(2.5, L.tensor([1, 3]), right=True),
        lambda L: L.bucketize(L.ones(2), L.ones(2, 2)),
        lambda L: L.median(rows(L)),
        lambda L: L.tensor([4, 1, 3, 2]).median(),
        lambda L: tuple(rows(L)[:, :4].median(1)),
        lambda L: tuple(L.median(rows(L), 0, keepdim=True)),
        lambda L: tuple(L.nanmedian(rows(L), dim=-1)),
        lambda L: rows(L).nanmedian(),
        lambda L: tuple(L.tensor([NAN, NAN]).nanmedian(0)),
        lambda L: tuple(L.tensor(3.0).median(0)),
        lambda L: L.zeros(0).median(),
        lambda L: L.zeros(0, dtype=L.int32).median(),
        lambda L: L.zeros(2, 0).median(1),
        lambda L: L.tensor([True]).median(),
        lambda L: L.median(rows(L), 1).indices.dtype is L.int64,
        lambda L: L.median(rows(L), 2),
        lambda L: L.ops.aten._unique2(L.tensor([3, 1, 1]), True, True, True),
        lambda L: L.ops.aten._unique2(L.tensor([3, 1, 1])),
        lambda L: L.ops.aten.unique_dim(L.tensor([[3, 1], [3, 1]]), 1),
        lambda L: L.unique(rows(L), return_counts=True)[1],
        lambda L: L.unique_consecutive(L.zeros(0), return_inverse=True),
        lambda L: L.unique(L.tensor(3.0), dim=0),
        lambda L: L.unique(L.ones(0, 0), dim=0),
    ],
)
def test_results_are_pytorchs(program):
    check(program)


SIGNAL = [[[0.0, 2.0, 8.0, 3.0], [1.0, 1.0, 5.0, -4.0]]]


def images(L):
    return L.tensor([[[[1.0, 2.0, 4.0], [3.0, 0.0, 5.0]]]])


@pytest.mark.parametrize(
    "program",
    [
        lambda L: L._C._nn.upsample_nearest1d(L.tensor(SIGNAL), [7]),
        lambda L: L._C._nn.upsample_nearest1d(L.tensor(SIGNAL), [3], 0.75),
        lambda L: L._C._nn.upsample_nearest2d(images(L), [5, 2]),
        lambda L: L._C._nn.upsample_linear1d(L.tensor(SIGNAL), [7], False),
        lambda L: L._C._nn.upsample_linear1d(L.tensor(SIGNAL), [1], True),
        lambda L: L._C._nn.upsample_bilinear2d(images(L), [4, 7], False),
        lambda L: L._C._nn.upsample_bilinear2d(images(L), [4, 7], True),
        lambda L: L._C._nn.upsample_bilinear2d(images(L), [3, 4], False, 1.7, 1.5),
        lambda L: L.nn.functional.interpolate(images(L).to(L.uint8), scale_factor=2, mode="bilinear"),
        lambda L: L.nn.functional.interpolate(images(L), scale_factor=(2.5, 0.7)),
        lambda L: L.nn.functional.interpolate(images(L), scale_factor=2, mode="bilinear", recompute_scale_factor=True),
        lambda L: L.nn.functional.interpolate(L.tensor(SIGNAL), 3, mode="linear", align_corners=True),
        lambda L: L.nn.functional.interpolate(L.zeros(0, 1, 2), 3),
        lambda L: L.nn.functional.interpolate(images(L), scale_factor=(2.4, 1.2)),
        lambda L: L.nn.functional.interpolate(L.tensor(SIGNAL), scale_factor=1.2),
        lambda L: L.nn.functional.interpolate(L.tensor(SIGNAL), scale_factor=1.2, mode="linear"),
        lambda L: L.nn.functional.interpolate(images(L), scale_factor=(1.4, 1.2), mode="bilinear"),
        lambda L: L.nn.functional.interpolate(images(L).unsqueeze(0), scale_factor=(1.4, 2.4, 1.2)),
        lambda L: L.nn.functional.interpolate(images(L).unsqueeze(0), scale_factor=(1.4, 2.4, 1.2), mode="trilinear"),
        lambda L: L.nn.functional.pixel_shuffle(L.arange(4.0).reshape(1, 4, 1, 1), 2),
        lambda L: L._C._nn.upsample_nearest1d(L.ones(1, 2), [3]),
        lambda L: L._C._nn.upsample_nearest1d(L.ones(1, 0, 2), [3]),
        lambda L: L._C._nn.upsample_nearest1d(L.ones(1, 1, 2), [0]),
        lambda L: L._C._nn.upsample_nearest2d(L.ones(1, 1, 2, 2, dtype=L.int64), [2, 2]),
        lambda L: L._C._nn.upsample_bilinear2d(L.ones(1, 1, 2, 2), [2], False),
    ],
)
def test_images_are_pytorchs(program):
    check(program)


@pytest.mark.parametrize(
    "program",
    [
        lambda L, x: L.median(x, 1).values.sum(),
        lambda L, x: x.nanmedian(),
        lambda L, x: x.clamp(2.0, 3.0).median(),
        lambda L, x: (L.tile(x, (2, 1)) * L.arange(6.0).reshape(2, 3).tile(2, 1)).sum(),
        lambda L, x: (x.swapaxes(0, 1) * L.arange(6.0).reshape(3, 2)).sum(),
        lambda L, x: (L._C._nn.upsample_bilinear2d(x.reshape(1, 1, 2, 3), [3, 5], False) ** 2).sum(),
        lambda L, x: (L._C._nn.upsample_nearest2d(x.reshape(1, 1, 2, 3), [3, 5]) ** 2).sum(),
    ],
)
def test_gradients(program):
    def gradient(L):
        x = L.tensor([[3.0, 1.0, 2.0], [0.5, 4.0, 7.0]], requires_grad=True)
        program(L, x).backward()
        return x.grad

    close(gradient)


def test_vmap_takes_them_apart():
    x = shunt.tensor([[3.0, 1.0, 2.0], [0.5, 4.0, 7.0]])
    edges = shunt.tensor([1.0, 2.0, 4.0])
    for program in (
        lambda v: v.median(0).values,
        lambda v: v.median(),
        lambda v: v.nanmedian(),
        lambda v: v.tile(2),
        lambda v: shunt.searchsorted(edges, v),
        lambda v: shunt.searchsorted(v.sort().values, edges),
        lambda v: shunt._C._nn.upsample_nearest1d(v.reshape(1, 1, 3), [5]),
        lambda v: shunt._C._nn.upsample_linear1d(v.reshape(1, 1, 3), [5], False),
    ):
        assert shunt.equal(shunt.vmap(program)(x), shunt.stack([program(v) for v in x]))


@pytest.mark.parametrize(
    "program", [lambda x: x.bincount(), lambda x: x.unique(), lambda x: shunt.unique_consecutive(x)]
)
def test_sizes_that_depend_on_elements_need_elements(program):
    with pytest.raises(RuntimeError):
        program(shunt.ones(3, dtype=shunt.int64, device="meta"))
    with pytest.raises(RuntimeError):
        shunt.vmap(program)(shunt.tensor([[1, 2], [1, 1]]))


def test_meta_tensors_have_shapes():
    x = shunt.ones(2, 3, device="meta")
    assert x.median(1).values.shape == (2,) and x.tile(2, 2).shape == (4, 6)
    assert shunt.searchsorted(x, x).shape == (2, 3)
    assert shunt._C._nn.upsample_bilinear2d(x.reshape(1, 1, 2, 3), [4, 5], False).shape == (1, 1, 4, 5)


def test_graphs_show_the_parts():
    x = shunt.tensor([[3.0, 1.0, 2.0], [0.5, 4.0, 7.0]])
    compiled = shunt.compile(lambda v: shunt.median(v * 2, 1).values + 1)
    assert compiled(x).tolist() == [5.0, 9.0]
    resized = shunt.compile(lambda v: shunt.nn.functional.interpolate(v, scale_factor=2, mode="bilinear"))
    image = x.reshape(1, 1, 2, 3)
    assert shunt.allclose(resized(image), shunt.nn.functional.interpolate(image, scale_factor=2, mode="bilinear"))
