"""Reductions and quantiles that are made of others."""

from shunt import _C
from shunt._autocast import by_policy
from shunt._composites._common import cast_into, indices, into, method, named_results, ops, wrapped

Tensor = _C.TensorBase


aminmax_result = named_results("aminmax", "min", "max")
kthvalue_result = named_results("kthvalue", "values", "indices")
mode_result = named_results("mode", "values", "indices")


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
        raise NotImplementedError(f"nanmean(): expected out= of a floating-point dtype, got {out.dtype}")
    if not input.is_floating_point():
        raise RuntimeError(f"nanmean(): expected input of a floating-point dtype, got {input.dtype}")
    over = tuple(range(input.dim())) if dim is None else dim
    count = input.isnan().logical_not().sum(over, keepdim)
    return cast_into(out, nansum(input, over, keepdim, dtype=dtype) / count)


@method
def aminmax(input, *, dim=None, keepdim=False, out=None):
    """The smallest and the largest element, of all or along a dimension: (min, max)."""
    if dim is None:
        if input.numel() == 0:
            raise RuntimeError("aminmax(): expected at least one element, as an empty input has no extremes, got none")
        result = aminmax_result(ops.amin(input, (), keepdim), ops.amax(input, (), keepdim))
    else:
        d = wrapped(dim, input.dim())
        if input.dim() and input.size(d) == 0:
            raise IndexError(f"aminmax(): expected dimension {d} with at least one element, got none")
        result = aminmax_result(ops.amin(input, (d,), keepdim), ops.amax(input, (d,), keepdim))
    return _pair(result, out)


@method
def kthvalue(input, k, dim=-1, keepdim=False, *, out=None):
    """The k-th smallest element along a dimension, counted from 1, and its place: (values, indices)."""
    d = wrapped(dim, input.dim())
    size = input.size(d) if input.dim() else 1
    if input.dim() and input.numel() == 0 and size == 0:
        raise IndexError(f"kthvalue(): expected dimension {d} with at least one element, got none")
    if not 1 <= k <= size:
        raise RuntimeError(f"kthvalue(): expected k from 1 to {size}, the size of dimension {d}, got {k}")
    if input.dim() == 0:
        return _pair(kthvalue_result(input.clone(), indices(0, input)), out)
    value, index = (x.select(d, k - 1).contiguous() for x in ops.sort(input, stable=True, dim=d))
    result = kthvalue_result(value.unsqueeze(d), index.unsqueeze(d)) if keepdim else kthvalue_result(value, index)
    return _pair(result, out)


def _quantile(name, input, q, dim, keepdim, interpolation, out, skip_nan):
    if interpolation not in ("linear", "lower", "higher", "nearest", "midpoint"):
        raise RuntimeError(
            f"{name}(): expected interpolation to be 'linear', 'lower', 'higher', 'midpoint' or 'nearest', got "
            f"{interpolation!r}"
        )
    if input.numel() == 0:
        raise RuntimeError(f"{name}(): expected input with at least one element, got shape {tuple(input.shape)}")
    if input.dtype not in (_C.float32, _C.float64):
        raise RuntimeError(f"{name}(): expected input of dtype float32 or float64, got {input.dtype}")
    if isinstance(q, Tensor):
        if q.dim() > 1:
            raise RuntimeError(f"{name}(): expected q with 0 or 1 dimensions, got {q.dim()}")
        if q.dtype is not input.dtype:
            raise RuntimeError(f"{name}(): expected q of dtype {input.dtype}, as input is, got {q.dtype}")
        if not bool(((q >= 0) & (q <= 1)).all()):
            raise RuntimeError(f"{name}(): expected values from 0 to 1 in q, got {q.tolist()}")
        qs, many = q.reshape((-1,)), q.dim() == 1
    else:
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}(): expected q from 0 to 1, got {q}")
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
            result = (
                result.reshape((1,) * input.dim())
                if dim is None
                else result.unsqueeze(d)
                if input.dim()
                else result.reshape(())
            )
        elif input.dim() == 0:
            result = result.reshape(())
    else:
        result = result.movedim(-1, 0)
        if keepdim and input.dim():
            result = result.reshape((qs.numel(), *(1,) * input.dim())) if dim is None else result.unsqueeze(d + 1)
    return into(out, result)


@method
@by_policy("quantile")
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """The q-quantiles of all elements, or along a dimension: `q` in [0, 1], a number or a vector, whose results are
    dimension 0.

    `interpolation` between two elements: "linear", "lower", "higher", "midpoint", "nearest". NaN where there is one.
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, out, False)


@method
@by_policy("nanquantile")
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """quantile of the elements that aren't NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, out, True)


@method
def msort(input, *, out=None):
    """The elements sorted along dimension 0."""
    return into(out, ops.sort(input, dim=0).values)
