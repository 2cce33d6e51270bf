"""Functions that move elements, and indexing functions."""

import shunt
from shunt import _C
from shunt.array_api._data_types import promoted


def broadcast_arrays(*arrays):
    """Views of the tensors in the shape that they have together."""
    return list(shunt.broadcast_tensors(*arrays))


def broadcast_to(x, /, shape):
    """A view of the tensor in a shape that it broadcasts to."""
    return shunt.broadcast_to(x, shape)


def concat(arrays, /, *, axis=0):
    """The tensors one after the other along a dimension; flattened first where that is None."""
    arrays = promoted("concat", *arrays)
    if axis is None:
        return shunt.cat([x.reshape(-1) for x in arrays])
    return shunt.cat(arrays, axis)


def expand_dims(x, /, axis=0):
    """A view with a further dimension of one element. IndexError where the position is out of range."""
    return x.unsqueeze(axis)


def flip(x, /, *, axis=None):
    """The elements in reverse order along a dimension, along several, or, by default, along all."""
    return shunt.flip(x, tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis)


def moveaxis(x, source, destination, /):
    """A view with dimensions at other positions, the others in their order."""
    return shunt.movedim(x, source, destination)


def permute_dims(x, /, axes):
    """A view with the dimensions in another order."""
    return shunt.permute(x, axes)


def repeat(x, repeats, /, *, axis=None):
    """Each element so often, one after the other: an int, or a tensor of ints; of the flattened tensor by default."""
    if isinstance(repeats, _C.TensorBase):
        repeats = repeats.to(_C.int64)
    return shunt.repeat_interleave(x, repeats, axis)


def reshape(x, /, shape, *, copy=None):
    """The elements in another shape: a view where that is possible. With `copy=False` ValueError where it isn't."""
    if copy:
        return x.clone().reshape(shape)
    if copy is False:
        try:
            return x.view(shape)
        except RuntimeError as error:
            raise ValueError(f"reshape(): the shape {tuple(shape)} needs a copy: {error}") from None
    return x.reshape(shape)


def roll(x, /, shift, *, axis=None):
    """The elements moved on along a dimension, the last ones to the front; of the flattened tensor by default."""
    return shunt.roll(x, shift, () if axis is None else axis)


def squeeze(x, /, axis):
    """A view without dimensions of one element. ValueError for a dimension of another size."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for one in axes:
        if x.shape[one] != 1:
            raise ValueError(f"squeeze(): dimension {one} of a tensor of shape {tuple(x.shape)} isn't of size 1")
    return shunt.squeeze(x, axes)


def stack(arrays, /, *, axis=0):
    """The tensors, which have one shape, along a new dimension."""
    return shunt.stack(promoted("stack", *arrays), axis)


def tile(x, repetitions, /):
    """The tensor so often along each dimension."""
    return shunt.tile(x, repetitions)


def unstack(x, /, *, axis=0):
    """Views of the parts along a dimension, a tuple."""
    return tuple(shunt.unbind(x, axis))


def take(x, indices, /, *, axis=None):
    """The parts of one-dimensional indices along a dimension; the tensor has one where that is None (ValueError)."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take(): axis must be given for a tensor of {x.ndim} dimensions")
        axis = 0
    return shunt.index_select(x, axis, _from_front(indices, x.shape[axis]))


def take_along_axis(x, indices, /, *, axis=-1):
    """The elements at indices along a dimension; in the others both broadcast."""
    at = axis % x.ndim
    shape = [1 if dim == at else size for dim, size in enumerate(x.shape)]
    other = [1 if dim == at else size for dim, size in enumerate(indices.shape)]
    common = list(shunt.broadcast_shapes(shape, other))
    common[at] = x.shape[at]
    x = x.expand(common)
    common[at] = indices.shape[at]
    return shunt.gather(x, at, _from_front(indices, x.shape[at]).expand(common))


def _from_front(indices, size):
    return shunt.where(indices < 0, indices + size, indices).to(_C.int64)
