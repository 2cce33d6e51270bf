"""Statistical, searching, sorting and utility functions."""

import builtins

import shunt
from shunt import _C
from shunt.array_api._data_types import promoted


def _axes(x, axis):
    """The dimensions, counted from the front: all where `axis` is None."""
    if axis is None:
        return tuple(range(x.ndim))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for one in axes:
        if not -x.ndim <= one < builtins.max(x.ndim, 1):
            raise IndexError(f"expected an axis from {-x.ndim} to {x.ndim - 1}, got {one}")
    return tuple(one % x.ndim for one in axes) if x.ndim else ()


def _one_by_one(x, axis, keepdims, reduce):
    axes = sorted(_axes(x, axis), reverse=True)
    for one in axes:
        x = reduce(x, one, keepdims)
    return x.clone() if not axes else x


def _sums_dtype(x, dtype):
    if dtype is not None:
        return dtype
    return x.dtype if x.is_floating_point() else _C.int64


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum of all elements, or along dimensions; of integers in int64."""
    dtype = _sums_dtype(x, dtype)
    axes = _axes(x, axis)
    return shunt.sum(x, axes, keepdims, dtype=dtype) if axes else x.to(dtype, copy=True)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product of all elements, or along dimensions; of integers in int64."""
    return _one_by_one(x.to(_sums_dtype(x, dtype)), axis, keepdims, shunt.prod)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean of all elements, or along dimensions."""
    axes = _axes(x, axis)
    return shunt.mean(x, axes, keepdims) if axes else x.clone()


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The standard deviation of all elements, or along dimensions; `correction` is taken from their number."""
    return var(x, axis=axis, correction=correction, keepdims=keepdims).sqrt()


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance of all elements, or along dimensions; `correction` is taken from their number."""
    axes = _axes(x, axis)
    if not axes:
        return shunt.var(x.unsqueeze(0), (0,), correction=correction)
    return shunt.var(x, axes, correction=correction, keepdim=keepdims)


def max(x, /, *, axis=None, keepdims=False):
    """The largest of all elements, or along dimensions. Error where there is none."""
    axes = _axes(x, axis)
    return shunt.amax(x, axes, keepdims) if axes else x.clone()


def min(x, /, *, axis=None, keepdims=False):
    """The smallest of all elements, or along dimensions. Error where there is none."""
    axes = _axes(x, axis)
    return shunt.amin(x, axes, keepdims) if axes else x.clone()


def all(x, /, *, axis=None, keepdims=False):
    """Whether all elements are true, or all along dimensions."""
    return _one_by_one(x.to(_C.bool), axis, keepdims, shunt.all)


def any(x, /, *, axis=None, keepdims=False):
    """Whether an element is true, or one along dimensions."""
    return _one_by_one(x.to(_C.bool), axis, keepdims, shunt.any)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements aren't 0."""
    return sum(x != 0, axis=axis, keepdims=keepdims)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """The sums of the first, the first two, ... elements along a dimension, after 0 with `include_initial`."""
    return _cumulative("cumulative_sum", shunt.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """The products of the first, the first two, ... elements along a dimension, after 1 with `include_initial`."""
    return _cumulative("cumulative_prod", shunt.cumprod, 1, x, axis, dtype, include_initial)


def _cumulative(name, function, initial, x, axis, dtype, include_initial):
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"{name}(): axis must be given for a tensor of {x.ndim} dimensions")
        axis = 0
    if x.ndim == 0:
        x = x.reshape(1)
    result = function(x, axis, dtype=_sums_dtype(x, dtype))
    if include_initial:
        shape = list(result.shape)
        shape[axis] = 1
        result = shunt.cat([shunt.full(shape, initial, dtype=result.dtype), result], axis)
    return result


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """The differences of neighbours along a dimension, n times."""
    return shunt.diff(x, n, axis, prepend, append)


def argmax(x, /, *, axis=None, keepdims=False):
    """The position of the largest element: along a dimension, or counted row by row."""
    return _position(shunt.argmax, x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The position of the smallest element: along a dimension, or counted row by row."""
    return _position(shunt.argmin, x, axis, keepdims)


def _position(function, x, axis, keepdims):
    if axis is None:
        result = function(x.reshape(-1), 0)
        return result.reshape((1,) * x.ndim) if keepdims else result
    return function(x, axis, keepdims)


def nonzero(x, /):
    """The positions of elements that aren't 0: a tensor a dimension. ValueError without dimensions."""
    if x.ndim == 0:
        raise ValueError("nonzero(): expected a tensor with dimensions, got one without")
    return tuple(shunt.nonzero(x, as_tuple=True))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where each element of `x2` would go into the sorted vector `x1`, before equal ones or, by "right", after."""
    x1, x2 = promoted("searchsorted", x1, x2)
    return shunt.searchsorted(x1, x2, side=side, sorter=sorter)


def where(condition, x1, x2, /):
    """The elements of `x1` where the condition holds, elsewhere those of `x2`; one of the two may be a number."""
    return shunt.where(condition, *promoted("where", x1, x2))


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The positions of the elements in order along a dimension."""
    return shunt.argsort(x, dim=axis, descending=descending, stable=stable)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along a dimension."""
    return shunt.sort(x, dim=axis, descending=descending, stable=stable)[0]
