"""Reductions, scans and searches along dimensions that are made of others."""

import bisect
import collections
import math

from shunt import _C
from shunt._composites._common import cast_into, floating, indices, into, method, ops, wrapped

Tensor = _C.TensorBase


def _named(name, *fields):
    """The class of a result with names."""
    result = collections.namedtuple(name, fields)
    result.__module__ = "shunt.return_types"
    return result


aminmax_result = _named("aminmax", "min", "max")
median_result = _named("median", "values", "indices")
nanmedian_result = _named("nanmedian", "values", "indices")
kthvalue_result = _named("kthvalue", "values", "indices")
mode_result = _named("mode", "values", "indices")
cummax_result = _named("cummax", "values", "indices")
cummin_result = _named("cummin", "values", "indices")


def _pair(result, out):
    """Several results, written to out= where that is given."""
    return result if out is None else type(result)(*(into(o, r) for o, r in zip(out, result)))


@method
def count_nonzero(input, dim=None):
    """How many elements aren't 0, of all or along dimensions: an int or a tuple."""
    return (input != 0).sum() if dim is None or dim == () else (input != 0).sum(dim)


@method
def nansum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum of the elements that aren't NaN."""
    if out is not None and not out.is_floating_point() and input.is_floating_point():
        raise NotImplementedError(f'"nansum" not implemented for {out.dtype}')
    x = ops.where(input.isnan(), ops.zeros_like(input), input) if input.is_floating_point() else input
    result = x.sum(dim, keepdim, dtype=dtype) if dim is not None else x.sum(tuple(range(x.dim())), keepdim, dtype=dtype)
    return cast_into(out, result)


@method
def nanmean(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The mean of the elements that aren't NaN."""
    if out is not None and not out.is_floating_point() and input.is_floating_point():
        raise NotImplementedError(f'"nanmean" not implemented for {out.dtype}')
    if not input.is_floating_point():
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype}")
    over = tuple(range(input.dim())) if dim is None else dim
    count = input.isnan().logical_not().sum(over, keepdim)
    return cast_into(out, nansum(input, over, keepdim, dtype=dtype) / count)


@method
def aminmax(input, *, dim=None, keepdim=False, out=None):
    """The smallest and the largest element, of all or along a dimension: (min, max)."""
    if dim is None:
        if input.numel() == 0:
            raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
        result = aminmax_result(ops.amin(input, (), keepdim), ops.amax(input, (), keepdim))
    else:
        d = wrapped(dim, input.dim())
        if input.dim() and input.size(d) == 0:
            raise IndexError(f"aminmax(): Expected reduction dim {d} to have non-zero size.")
        result = aminmax_result(ops.amin(input, (d,), keepdim), ops.amax(input, (d,), keepdim))
    return _pair(result, out)


def _kth(input, places, dim, keepdim, make):
    """The elements at places of the sorted rows, places being of the rows' shape or one int."""
    values, order = ops.sort(input, stable=True, dim=dim)
    if isinstance(places, int):
        value, index = values.select(dim, places), order.select(dim, places)
    else:
        value, index = (x.take_along_dim(places.unsqueeze(dim), dim).squeeze(dim) for x in (values, order))
    value, index = value.contiguous(), index.contiguous()
    return make(value.unsqueeze(dim), index.unsqueeze(dim)) if keepdim else make(value, index)


@method
def kthvalue(input, k, dim=-1, keepdim=False, *, out=None):
    """The k-th smallest element along a dimension, counted from 1, and its place: (values, indices)."""
    d = wrapped(dim, input.dim())
    size = input.size(d) if input.dim() else 1
    if input.dim() and input.numel() == 0 and size == 0:
        raise IndexError(f"kthvalue(): Expected reduction dim {d} to have non-zero size.")
    if not 1 <= k <= size:
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(d))
    if input.dim() == 0:
        return _pair(kthvalue_result(input.clone(), indices(0)), out)
    return _pair(_kth(input, k - 1, d, keepdim, kthvalue_result), out)


def _median(input, dim, keepdim, out, make, skip_nan):
    if dim is None:
        if input.numel() == 0:
            return input.new_full((), math.nan) if input.is_floating_point() else input.new_zeros(())
        return _median(input.reshape((-1,)), 0, False, None, make, skip_nan)[0]
    if input.dim() == 0:
        return _pair(make(input.clone(), indices(0)), out)
    d = wrapped(dim, input.dim())
    size = input.size(d)
    if size == 0:
        raise IndexError(f"{make.__name__}(): Expected reduction dim {d} to have non-zero size.")
    if not input.is_floating_point():
        return _pair(_kth(input, (size - 1) // 2, d, keepdim, make), out)
    nan = input.isnan()
    if skip_nan:
        counts = nan.logical_not().sum(d)
        return _pair(_kth(input, ops.clamp_min((counts - 1).floor_divide(2), 0), d, keepdim, make), out)
    # NaN is the median of a row that has one: the first, which sorting puts behind the numbers.
    counts = nan.logical_not().sum(d)
    places = ops.where(nan.any(d), counts, ops.full_like(counts, (size - 1) // 2))
    return _pair(_kth(input, places, d, keepdim, make), out)


@method
def median(input, dim=None, keepdim=False, *, out=None):
    """The lower median of all elements, or along a dimension with its places: (values, indices). NaN where there is one."""
    return _median(input, dim, keepdim, out, median_result, False)


@method
def nanmedian(input, dim=None, keepdim=False, *, out=None):
    """The lower median of the elements that aren't NaN."""
    return _median(input, dim, keepdim, out, nanmedian_result, True)


def _quantile(name, input, q, dim, keepdim, interpolation, out, skip_nan):
    if interpolation not in ("linear", "lower", "higher", "nearest", "midpoint"):
        raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}")
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if input.dtype not in (_C.float32, _C.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if isinstance(q, Tensor):
        if q.dim() > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
        if q.dtype is not input.dtype:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
        if not bool(((q >= 0) & (q <= 1)).all()):
            raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
        qs, many = q.reshape((-1,)), q.dim() == 1
    else:
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        qs, many = input.new_full((1,), q), False
    x = input.reshape((-1,)) if dim is None else input.reshape((1,)) if input.dim() == 0 else input
    d = 0 if dim is None else wrapped(dim, input.dim())
    rows = ops.sort(x.movedim(d, -1), dim=-1).values
    size = rows.size(-1)
    nan = rows.isnan()
    if skip_nan:
        last = ops.clamp_min(nan.logical_not().sum(-1, True) - 1, 0).to(rows.dtype)
        ranks = last * qs
    else:
        ranks = (qs * (size - 1)).expand((*rows.shape[:-1], qs.numel()))
        ranks = ops.masked_fill(ranks, nan.any(-1, True), size - 1.0)
    if interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    low = ranks.to(_C.int64)
    result = rows.gather(-1, low)
    if interpolation in ("linear", "midpoint"):
        weight = ops.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - low
        result = ops.lerp(result, rows.gather(-1, ranks.ceil().to(_C.int64)), weight)
    if not many:
        result = result.squeeze(-1)
        if keepdim:
            result = result.reshape((1,) * input.dim()) if dim is None else result.unsqueeze(d) if input.dim() else result.reshape(())
        elif input.dim() == 0:
            result = result.reshape(())
    else:
        result = result.movedim(-1, 0)
        if keepdim:
            result = result.reshape((qs.numel(), *(1,) * input.dim())) if dim is None else result.unsqueeze(d + 1)
    return into(out, result)


@method
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """The q-quantiles of all elements, or along a dimension: `q` in [0, 1], a number or a vector, whose results are dimension 0.

    `interpolation` between two elements: "linear", "lower", "higher", "midpoint", "nearest". NaN where there is one.
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, out, False)


@method
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """quantile of the elements that aren't NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, out, True)


@method
def msort(input, *, out=None):
    """The elements sorted along dimension 0."""
    return into(out, ops.sort(input, dim=0).values)


def _scan(input, dim, out, make, is_new):
    d = wrapped(dim, input.dim())
    if input.dim() == 0:
        return _pair(make(input.clone(), indices(0)), out)
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
    return lambda x, best: (compare(x, best) | x.isnan()) & (x.isnan() | best.isnan().logical_not()) if x.is_floating_point() \
        else compare(x, best)


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
    from shunt._composites.pointwise import logaddexp
    parts = list(input.unbind(d))
    for i in range(1, len(parts)):
        parts[i] = logaddexp(parts[i - 1], parts[i])
    return into(out, ops.stack(parts, d))


@method
def diff(input, n=1, dim=-1, prepend=None, append=None, *, out=None):
    """The differences of neighbours along a dimension, `n` times; prepend and append are put at the ends first."""
    if input.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    d = wrapped(dim, input.dim())
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    parts = [t for t in (prepend, input, append) if t is not None]
    for t in parts:
        if t.dim() != input.dim():
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        if any(t.size(k) != input.size(k) for k in range(t.dim()) if k != d):
            raise RuntimeError("diff expects the shape of tensor to prepend or append to match that of input except along the "
                               "differencing dimension")
    if n == 0:
        return cast_into(out, input.clone())
    x = ops.cat(parts, d) if len(parts) > 1 else input
    for _ in range(min(n, x.size(d))):
        after, before = x.narrow(d, 1, max(x.size(d) - 1, 0)) if x.size(d) else x, x.narrow(d, 0, max(x.size(d) - 1, 0))
        x = ops.logical_xor(after, before) if x.dtype is _C.bool else after - before
    return cast_into(out, x)


def _spacing(y, x, dx, dim):
    """The distances of the samples: a number, or what broadcasts to the intervals along dim, which is moved to the end."""
    if x is None:
        return dx
    if x.dim() == 1 and y.size(dim) != x.size(0):
        raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
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


@method
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of variables, the rows, over observations, the columns. Shape (n, m) to (n, n).

    Args:
        correction: what is taken from the number of observations.
        fweights, aweights: how often each observation was made, and how much it counts.
    """
    if input.dim() > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions")
    if input.dtype is _C.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input.reshape((1, -1)) if input.dim() < 2 else input
    count, weights = x.size(1), None
    if fweights is not None:
        if fweights.dim() > 1:
            raise RuntimeError(f"cov(): expected fweights to have one or fewer dimensions but got fweights with {fweights.dim()} dimensions")
        if fweights.is_floating_point() or fweights.dtype is _C.bool:
            raise RuntimeError(f"cov(): expected fweights to have integral dtype but got fweights with {fweights.dtype} dtype")
        if fweights.numel() != count:
            raise RuntimeError(f"cov(): expected fweights to have the same numel as there are observations in the input but got "
                               f"{fweights.numel()} != {count}")
        if count and int(fweights.min()) < 0:
            raise RuntimeError("cov(): fweights cannot be negative")
        weights = fweights
    if aweights is not None:
        if aweights.dim() > 1:
            raise RuntimeError(f"cov(): expected aweights to have one or fewer dimensions but got aweights with {aweights.dim()} dimensions")
        if not aweights.is_floating_point():
            raise RuntimeError(f"cov(): expected aweights to have floating point dtype but got aweights with {aweights.dtype} dtype")
        if aweights.numel() != count:
            raise RuntimeError(f"cov(): expected aweights to have the same numel as there are observations in the input but got "
                               f"{aweights.numel()} != {count}")
        if count and float(aweights.min()) < 0:
            raise RuntimeError("cov(): aweights cannot be negative")
        weights = aweights if weights is None else weights * aweights
    if weights is None:
        total, mean = count, floating(x).mean(1, True)
    else:
        total = weights.sum()
        if count and float(total) == 0:
            raise ZeroDivisionError("cov(): weights sum to zero, can't be normalized")
        mean = (x * weights).sum(1, True) / total
    if weights is None or aweights is None or correction == 0:
        freedom = total - correction
    else:
        freedom = total - correction * (weights * aweights).sum() / total
    centred = x - mean
    product = ops.matmul(centred, (centred if weights is None else centred * weights).t())
    freedom = ops.clamp_min(freedom, 0) if isinstance(freedom, Tensor) else max(freedom, 0)
    result = product / freedom
    return result.squeeze()


@method
def corrcoef(input):
    """The correlation coefficients of variables, the rows, over observations, the columns, within [-1, 1]."""
    if input.dim() > 2:
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions")
    c = cov(input)
    if c.dim() == 0:
        return c / c
    deviation = c.diagonal().sqrt()
    return (c / deviation.reshape((-1, 1)) / deviation.reshape((1, -1))).clamp(-1, 1)


@method
def bincount(input, weights=None, minlength=0):
    """How often each int occurs, or the sums of its weights, from 0 to the largest or to minlength - 1."""
    if input.is_floating_point() or input.dtype is _C.bool:
        raise RuntimeError(f'"bincount_cpu" not implemented for {input.dtype}')
    if input.dim() != 1 or (input.numel() and int(input.min()) < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and (weights.dim() != 1 or weights.numel() != input.numel()):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    size = max(minlength, int(input.max()) + 1 if input.numel() else 0)
    if weights is None:
        weights = ops.ones_like(input, dtype=_C.int64)
    elif weights.dtype is not _C.float32:
        weights = weights.to(_C.float64)
    return weights.new_zeros((size,)).index_add_(0, input, weights)


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None, out=None):
    """Where the values of `input` belong in sorted rows: before the elements that are equal, or after them with `right`.

    Args:
        sorted_sequence: a vector, or rows, one for each row of the input. With `sorter`, the places of its elements in order.
        side: "left" or "right", another spelling of `right`.
        out_int32: whether the result is of int32, not int64.
    """
    right = _side(right, side)
    rows, values = sorted_sequence, input
    if not isinstance(values, Tensor):
        values = ops.scalar_tensor(values, dtype=rows.dtype if rows.is_floating_point() or isinstance(values, int) else None)
        if rows.dim() != 1:
            raise RuntimeError("torch.searchsorted(): input value can be a scalar only when sequence tensor dimension is 1")
    if sorter is not None:
        if sorter.shape != rows.shape:
            raise RuntimeError("torch.searchsorted(): boundary and sorter must have the same size")
        if sorter.dtype is not _C.int64:
            raise RuntimeError(f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype}")
        if sorter.numel() and (int(sorter.min()) < 0 or int(sorter.max()) >= rows.size(-1)):
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        rows = rows.gather(-1, sorter)
    if rows.dim() != 1 and (rows.dim() != values.dim() or rows.shape[:-1] != values.shape[:-1]):
        raise RuntimeError("torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
                           f"and input value tensor must match, but we got boundaries tensor {list(rows.shape)} and input value tensor "
                           f"{list(values.shape)}")
    if rows.dtype is not values.dtype and isinstance(input, Tensor):
        raise RuntimeError("torch.searchsorted(): input value tensor and boundary tensor should have same dtype, but got input value "
                           f"tensor dtype {values.dtype} and boundary tensor dtype {rows.dtype}")
    return _placed(rows, values, right, out_int32, out)


def _side(right, side):
    if side is None:
        return right
    if side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True")
    return side == "right"


def _placed(rows, values, right, out_int32, out):
    find = bisect.bisect_right if right else bisect.bisect_left
    size = rows.size(-1)
    table = rows.reshape((-1, size)).tolist() if size else [[]] * max(rows.numel(), 1)
    of_row = values.reshape((-1, values.size(-1))).tolist() if rows.dim() > 1 and values.numel() else [values.reshape((-1,)).tolist()]

    def place(row, v):
        return size if v != v else find(row, v)

    flat = [place(row, v) for row, items in zip(table, of_row) for v in items]
    result = indices(flat).reshape(values.shape)
    return into(out, result.to(_C.int32) if out_int32 else result)


def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """Which of the intervals between sorted boundaries each element is in; `right`: whether the boundary is the interval's left end."""
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    if not isinstance(input, Tensor):
        input = ops.scalar_tensor(input, dtype=boundaries.dtype)
    return _placed(boundaries, input, right, out_int32, out)


@method
def argwhere(input):
    """The places of the elements that aren't 0, in rows."""
    return ops.nonzero(input)


def isin(elements, test_elements, *, assume_unique=False, invert=False, out=None):
    """Whether each element is one of `test_elements`; one of the two may be a number."""
    if not isinstance(elements, Tensor):
        elements = ops.scalar_tensor(elements, dtype=test_elements.dtype)
    if not isinstance(test_elements, Tensor):
        result = elements == test_elements
    else:
        result = (elements.unsqueeze(-1) == test_elements.reshape((-1,))).any(-1)
    return into(out, result.logical_not() if invert else result)


@method
def renorm(input, p, dim, maxnorm, *, out=None):
    """Each slice along a dimension, scaled down to the p-norm `maxnorm` where it is larger."""
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError("renorm: expected maxnorm to be >= 0 but got " + str(maxnorm))
    if input.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.dim()} dimensions")
    d = wrapped(dim, input.dim())
    norms = ops.norm(input, p, [k for k in range(input.dim()) if k != d], True)
    scale = ops.where(norms > maxnorm, maxnorm / (norms + 1e-7), ops.ones_like(norms))
    return into(out, input * scale)


@method
def renorm_(input, p, dim, maxnorm):
    """The in-place form of renorm()."""
    return input.copy_(renorm(input, p, dim, maxnorm))
