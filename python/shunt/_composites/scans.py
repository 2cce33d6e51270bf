"""Scans and integrals along dimensions that are made of others."""

from shunt import _C
from shunt._composites._common import cast_into, indices, into, method, named_results, ops, wrapped
from shunt._composites.reductions import _pair

cummax_result = named_results("cummax", "values", "indices")
cummin_result = named_results("cummin", "values", "indices")


def _scan(input, dim, out, make, is_new):
    d = wrapped(dim, input.dim())
    if input.dim() == 0:
        return _pair(make(input.clone(), indices(0, input)), out)
    size = input.size(d)
    if size == 0 or input.numel() == 0:
        return _pair(make(input.clone(), ops.zeros_like(input, dtype=_C.int64)), out)
    parts = input.unbind(d)
    places = [ops.zeros_like(parts[0], dtype=_C.int64)]
    best = parts[0].detach()
    for i, x in enumerate(parts[1:], 1):
        new = is_new(x.detach(), best)
        places.append(ops.where(new, ops.full_like(places[0], i), places[-1]))
        best = ops.where(new, x.detach(), best)
    index = ops.stack(places, d)
    return _pair(make(input.gather(d, index), index), out)


def _nan_or(compare):
    """A NaN counts as best, and the last of them."""
    return lambda x, best: (
        (compare(x, best) | x.isnan()) & (x.isnan() | best.isnan().logical_not())
        if x.is_floating_point()
        else compare(x, best)
    )


@method
def cummax(input, dim, *, out=None):
    """The largest element up to each along a dimension, and its place, the last of equal ones: (values, indices)."""
    return _scan(input, dim, out, cummax_result, _nan_or(ops.ge))


@method
def cummin(input, dim, *, out=None):
    """The smallest element up to each along a dimension, and its place, the last of equal ones: (values, indices)."""
    return _scan(input, dim, out, cummin_result, _nan_or(ops.le))


@method
def logcumsumexp(input, dim, *, out=None):
    """The logarithm of the sum of exp up to each element along a dimension."""
    if not input.is_floating_point():
        raise NotImplementedError(f'"logcumsumexp" not implemented for {input.dtype}')
    d = wrapped(dim, input.dim())
    if input.dim() == 0 or input.numel() == 0:
        return into(out, input.clone())
    parts = list(input.unbind(d))
    for i in range(1, len(parts)):
        parts[i] = ops.logaddexp(parts[i - 1], parts[i])
    return into(out, ops.stack(parts, d))


@method
def diff(input, n=1, dim=-1, prepend=None, append=None, *, out=None):
    """The differences of neighbours along a dimension, `n` times; prepend and append are put at the ends first."""
    if input.dim() == 0:
        raise RuntimeError("diff(): expected input with 1 dimension or more, got 0")
    d = wrapped(dim, input.dim())
    if n < 0:
        raise RuntimeError(f"diff(): expected n of at least 0, got {n}")
    parts = [t for t in (prepend, input, append) if t is not None]
    for t in parts:
        if t.dim() != input.dim():
            raise RuntimeError(
                f"diff(): expected prepend and append with {input.dim()} dimensions, as input has, got {t.dim()}"
            )
        if any(t.size(k) != input.size(k) for k in range(t.dim()) if k != d):
            raise RuntimeError(
                f"diff(): expected prepend and append with input's sizes {list(input.shape)} but in dimension {d}, got "
                f"{list(t.shape)}"
            )
    if n == 0:
        if out is not None and out.dtype != input.dtype:
            raise RuntimeError(f"diff(): expected out of input's dtype {input.dtype} where n is 0, got {out.dtype}")
        return cast_into(out, input.clone())
    x = ops.cat(parts, d) if len(parts) > 1 else input
    for _ in range(min(n, x.size(d))):
        after, before = x.narrow(d, 1, max(x.size(d) - 1, 0)) if x.size(d) else x, x.narrow(d, 0, max(x.size(d) - 1, 0))
        x = ops.logical_xor(after, before) if x.dtype is _C.bool else after - before
    return cast_into(out, x)


def _spacing(y, x, dx, dim):
    """The distances of the samples: a number, or what broadcasts to the intervals along dim, which is moved to the
    end."""
    if x is None:
        return dx
    if x.dim() == 1 and y.size(dim) != x.size(0):
        raise RuntimeError(f"trapezoid(): expected an x for each of the {y.size(dim)} elements, got {x.size(0)}")
    if x.dim() == 1:
        return x[1:] - x[:-1]
    x = x.movedim(dim if x.dim() == y.dim() else -1, -1)
    return x[..., 1:] - x[..., :-1]


def _trapezoids(y, x, dx, dim):
    d = wrapped(dim, y.dim())
    rows = y.movedim(d, -1)
    return (rows[..., 1:] + rows[..., :-1]) * _spacing(y, x, dx, d) / 2.0, d


def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral along a dimension by the trapezoidal rule: samples `y` at the places `x`, or `dx` (1) apart."""
    if x is None and y.size(dim) == 0:
        shape = [n for k, n in enumerate(y.shape) if k != dim % y.dim()]
        return y.new_zeros(shape)
    return _trapezoids(y, x, 1 if dx is None else dx, dim)[0].sum(-1)


def trapz(y, x=None, *, dx=None, dim=-1):
    """trapezoid, by NumPy's older name."""
    return trapezoid(y, x, dx=dx, dim=dim)


def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integrals up to each place along a dimension by the trapezoidal rule."""
    areas, d = _trapezoids(y, x, 1 if dx is None else dx, dim)
    return areas.cumsum(-1).movedim(-1, d).contiguous()
