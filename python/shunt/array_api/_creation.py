"""Creation functions."""

import shunt
from shunt import _C


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Numbers from `start`, or 0, up to `stop`, which is not among them."""
    if stop is None:
        start, stop = 0, start
    if (stop - start) * step <= 0:
        whole = all(isinstance(number, int) for number in (start, stop, step))
        return shunt.empty(0, dtype=dtype or (_C.int64 if whole else None), device=device)
    return shunt.arange(start, stop, step, dtype=dtype, device=device)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """A tensor of what `obj` holds: a tensor, a NumPy array, an object with DLPack, numbers in nested lists."""
    return shunt.asarray(obj, dtype=dtype, device=device, copy=copy)


def empty(shape, *, dtype=None, device=None):
    """A tensor whose elements have no values yet."""
    return shunt.empty(shape, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """A tensor of the shape of `x` whose elements have no values yet."""
    return shunt.empty_like(x, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """A matrix with ones in the `k`-th diagonal and zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    result = shunt.zeros(n_rows, columns, dtype=dtype, device=device)
    if -n_rows < k < columns:
        result.diagonal(k).fill_(1)
    return result


def from_dlpack(x, /, *, device=None, copy=None):
    """A tensor over the memory of another library's array."""
    return shunt.from_dlpack(x, device=device, copy=copy)


def full(shape, fill_value, *, dtype=None, device=None):
    """A tensor of one value."""
    return shunt.full((shape,) if isinstance(shape, int) else shape, fill_value, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """A tensor of the shape of `x`, of one value."""
    return shunt.full_like(x, fill_value, dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` numbers from `start` to `stop` at equal distances; without `endpoint` `stop` is not among them."""
    if endpoint:
        return shunt.linspace(start, stop, num, dtype=dtype, device=device)
    return shunt.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def meshgrid(*arrays, indexing="xy"):
    """Coordinates of a grid: for each of the one-dimensional tensors one of all their dimensions."""
    return list(shunt.meshgrid(*arrays, indexing=indexing))


def ones(shape, *, dtype=None, device=None):
    """A tensor of ones."""
    return shunt.ones(shape, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """A tensor of ones of the shape of `x`."""
    return shunt.ones_like(x, dtype=dtype, device=device)


def tril(x, /, *, k=0):
    """Matrices with zeros above the `k`-th diagonal."""
    return shunt.tril(x, k)


def triu(x, /, *, k=0):
    """Matrices with zeros below the `k`-th diagonal."""
    return shunt.triu(x, k)


def zeros(shape, *, dtype=None, device=None):
    """A tensor of zeros."""
    return shunt.zeros(shape, dtype=dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """A tensor of zeros of the shape of `x`."""
    return shunt.zeros_like(x, dtype=dtype, device=device)
