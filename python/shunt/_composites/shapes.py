"""Tensors stacked, turned and with other dimensions. All but stacks and copies are views where they can be."""

from shunt import _C
from shunt._composites._common import broadcast_shapes, method, wrapped

Tensor = _C.TensorBase


def _list(tensors):
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else list(tensors)


def broadcast_tensors(*tensors):
    """The tensors broadcast to one shape, views."""
    tensors = _list(tensors)
    shape = broadcast_shapes(*(t.shape for t in tensors))
    return tuple(t.expand(shape) for t in tensors)


def _at_least(n, reshape, tensors):
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return reshape(tensors[0]) if tensors[0].dim() < n else tensors[0]
    return tuple(reshape(t) if t.dim() < n else t for t in _list(tensors))


def atleast_1d(*tensors):
    """Numbers as vectors of one element; others as they are."""
    return _at_least(1, lambda t: t.reshape((1,)), tensors)


def atleast_2d(*tensors):
    """Numbers and vectors as matrices of one row; others as they are."""
    return _at_least(2, lambda t: t.reshape((1, 1)) if t.dim() == 0 else t.unsqueeze(0), tensors)


def atleast_3d(*tensors):
    """Numbers, vectors and matrices with dimensions of size 1 around them, (1, n, 1) and (n, m, 1); others as they
    are."""
    return _at_least(
        3,
        lambda t: (
            t.reshape((1, 1, 1)) if t.dim() == 0 else t.unsqueeze(0).unsqueeze(-1) if t.dim() == 1 else t.unsqueeze(-1)
        ),
        tensors,
    )


@method
def adjoint(input):
    """The matrices of the last two dimensions transposed; of at least two dimensions, or none."""
    if input.dim() == 0:
        return input.alias()
    return _matrix_transposed(input, "adjoint")


def _matrix_transposed(input, name):
    if input.dim() < 2:
        raise RuntimeError(f"Tensor.{name}: expected 2 dimensions or more, got {input.dim()}")
    return input.transpose(-2, -1)


def _all_reversed(input, name):
    if name == "H" and input.dim() not in (0, 2):
        raise RuntimeError(f"Tensor.H: expected 2 dimensions, got {input.dim()}")
    if name == "T" and input.dim() not in (0, 2):
        _C._warn(f"Tensor.T: expected 2 dimensions, got {input.dim()}; a future version will refuse it: call mT for "
                 "matrices in batches, or permute()")
    return input.permute(tuple(range(input.dim()))[::-1])


# T, H, mT, mH of Tensor.
PROPERTIES = {
    "T": (lambda self: _all_reversed(self, "T"), "The tensor with its dimensions in the opposite order, a view."),
    "H": (
        lambda self: _all_reversed(self, "H"),
        "The matrix transposed and conjugated, a view; RuntimeError for another.",
    ),
    "mT": (lambda self: _matrix_transposed(self, "mT"), "The matrices of the last two dimensions transposed, a view."),
    "mH": (
        lambda self: _matrix_transposed(self, "mH"),
        "The matrices of the last two dimensions transposed and conjugated, a view.",
    ),
}


@method
def unflatten(input, dim, sizes):
    """A dimension as several, whose sizes have its size as their product; one may be -1."""
    sizes = tuple(sizes)
    d = wrapped(dim, input.dim())
    if not sizes:
        raise RuntimeError("unflatten(): expected at least one size, got none")
    known = 1
    for n in sizes:
        known *= n if n != -1 else 1
    if (
        input.dim() == 0
        or (-1 not in sizes and known != input.size(d))
        or (-1 in sizes and (known == 0 or input.size(d) % known))
    ):
        size = input.size(d) if input.dim() else 1
        raise RuntimeError(
            f"unflatten(): expected sizes whose product is {size}, the size of dimension {d}, got {list(sizes)}"
        )
    return input.view((*input.shape[:d], *sizes, *input.shape[d + 1 :]))


@method
def rot90(input, k=1, dims=(0, 1)):
    """Turned `k` times by 90 degrees, in the plane from the first of `dims` to the second; a copy."""
    dims = tuple(dims)
    if len(dims) != 2:
        raise RuntimeError(f"rot90(): expected two dims, got {len(dims)}")
    if input.dim() < 2:
        raise RuntimeError(f"rot90(): expected input with 2 dimensions or more, got {input.dim()}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input.dim():
        raise RuntimeError(f"rot90(): expected two different dims, got {dims[0]} and {dims[1]}")
    for d in dims:
        if not -input.dim() <= d < input.dim():
            raise RuntimeError(f"rot90(): expected dims from {-input.dim()} to {input.dim() - 1}, got {d}")
    k %= 4
    if k == 1:
        return input.flip((dims[1],)).transpose_(dims[0], dims[1])
    if k == 2:
        return input.flip(dims)
    return (
        input.flip((dims[0],)).transpose_(dims[0], dims[1])
        if k == 3
        else input.clone(memory_format=_C.contiguous_format)
    )
