"""Covariances, counts and searches that are made of others."""

import bisect
from shunt import _C
from shunt._composites._common import floating, indices, into, method, ops, wrapped
from shunt._composites.reductions import Tensor


@method
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of variables, the rows, over observations, the columns. Shape (n, m) to (n, n).

    Args:
        correction: what is taken from the number of observations.
        fweights, aweights: how often each observation was made, and how much it counts.
    """
    if input.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
    if input.dtype is _C.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input.reshape((1, -1)) if input.dim() < 2 else input
    count, weights = x.size(1), None
    if fweights is not None:
        if fweights.dim() > 1:
            raise RuntimeError(
                f"cov(): expected fweights to have one or fewer dimensions but got fweights with {fweights.dim()} "
                f"dimensions"
            )
        if fweights.is_floating_point() or fweights.dtype is _C.bool:
            raise RuntimeError(
                f"cov(): expected fweights to have integral dtype but got fweights with {fweights.dtype} dtype"
            )
        if fweights.numel() != count:
            raise RuntimeError(
                f"cov(): expected fweights to have the same numel as there are observations in the input but got "
                f"{fweights.numel()} != {count}"
            )
        if count and int(fweights.min()) < 0:
            raise RuntimeError("cov(): fweights cannot be negative")
        weights = fweights
    if aweights is not None:
        if aweights.dim() > 1:
            raise RuntimeError(
                f"cov(): expected aweights to have one or fewer dimensions but got aweights with {aweights.dim()} "
                f"dimensions"
            )
        if not aweights.is_floating_point():
            raise RuntimeError(
                f"cov(): expected aweights to have floating point dtype but got aweights with {aweights.dtype} dtype"
            )
        if aweights.numel() != count:
            raise RuntimeError(
                f"cov(): expected aweights to have the same numel as there are observations in the input but got "
                f"{aweights.numel()} != {count}"
            )
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
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
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
    """Where the values of `input` belong in sorted rows: before the elements that are equal, or after them with
    `right`.

    Args:
        sorted_sequence: a vector, or rows, one for each row of the input. With `sorter`, the places of its elements in
        order.
        side: "left" or "right", another spelling of `right`.
        out_int32: whether the result is of int32, not int64.
    """
    right = _side(right, side)
    rows, values = sorted_sequence, input
    if not isinstance(values, Tensor):
        values = ops.scalar_tensor(
            values, dtype=rows.dtype if rows.is_floating_point() or isinstance(values, int) else None
        )
        if rows.dim() != 1:
            raise RuntimeError(
                "torch.searchsorted(): input value can be a scalar only when sequence tensor dimension is 1"
            )
    if sorter is not None:
        if sorter.shape != rows.shape:
            raise RuntimeError("torch.searchsorted(): boundary and sorter must have the same size")
        if sorter.dtype is not _C.int64:
            raise RuntimeError(
                f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype}"
            )
        if sorter.numel() and (int(sorter.min()) < 0 or int(sorter.max()) >= rows.size(-1)):
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        rows = rows.gather(-1, sorter)
    if rows.dim() != 1 and (rows.dim() != values.dim() or rows.shape[:-1] != values.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            "boundaries tensor "
            f"and input value tensor must match, but we got boundaries tensor {list(rows.shape)} and input value "
            f"tensor "
            f"{list(values.shape)}"
        )
    if rows.dtype is not values.dtype and isinstance(input, Tensor):
        raise RuntimeError(
            "torch.searchsorted(): input value tensor and boundary tensor should have same dtype, but got input value "
            f"tensor dtype {values.dtype} and boundary tensor dtype {rows.dtype}"
        )
    return _placed(rows, values, right, out_int32, out)


def _side(right, side):
    if side is None:
        return right
    if side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    return side == "right"


def _placed(rows, values, right, out_int32, out):
    find = bisect.bisect_right if right else bisect.bisect_left
    size = rows.size(-1)
    table = rows.reshape((-1, size)).tolist() if size else [[]] * max(rows.numel(), 1)
    of_row = (
        values.reshape((-1, values.size(-1))).tolist()
        if rows.dim() > 1 and values.numel()
        else [values.reshape((-1,)).tolist()]
    )

    def place(row, v):
        return size if v != v else find(row, v)

    flat = [place(row, v) for row, items in zip(table, of_row) for v in items]
    result = indices(flat).reshape(values.shape)
    return into(out, result.to(_C.int32) if out_int32 else result)


def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """Which of the intervals between sorted boundaries each element is in; `right`: whether the boundary is the
    interval's left end."""
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
