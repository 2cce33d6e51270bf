"""Covariances and searches that are made of others."""

from shunt import _C
from shunt._composites._common import floating, into, method, ops, wrapped
from shunt._composites.reductions import Tensor


@method
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of variables, the rows, over observations, the columns. Shape (n, m) to (n, n).

    Args:
        correction: what is taken from the number of observations.
        fweights, aweights: how often each observation was made, and how much it counts.
    """
    if input.dim() > 2:
        raise RuntimeError(f"cov(): expected input with at most 2 dimensions, got {input.dim()}")
    if input.dtype is _C.bool:
        raise RuntimeError("cov(): expected input of numbers, got dtype bool")
    x = input.reshape((1, -1)) if input.dim() < 2 else input
    count, weights = x.size(1), None
    if fweights is not None:
        if fweights.dim() > 1:
            raise RuntimeError(f"cov(): expected fweights with at most 1 dimension, got {fweights.dim()}")
        if fweights.is_floating_point() or fweights.dtype is _C.bool:
            raise RuntimeError(f"cov(): expected fweights of an integer dtype, got {fweights.dtype}")
        if fweights.numel() != count:
            raise RuntimeError(
                f"cov(): expected a weight in fweights for each of the {count} observations, got {fweights.numel()}"
            )
        if count and int(fweights.min()) < 0:
            raise RuntimeError(f"cov(): expected fweights of at least 0, got {int(fweights.min())}")
        weights = fweights
    if aweights is not None:
        if aweights.dim() > 1:
            raise RuntimeError(f"cov(): expected aweights with at most 1 dimension, got {aweights.dim()}")
        if not aweights.is_floating_point():
            raise RuntimeError(f"cov(): expected aweights of a floating-point dtype, got {aweights.dtype}")
        if aweights.numel() != count:
            raise RuntimeError(
                f"cov(): expected a weight in aweights for each of the {count} observations, got {aweights.numel()}"
            )
        if count and float(aweights.min()) < 0:
            raise RuntimeError(f"cov(): expected aweights of at least 0, got {float(aweights.min())}")
        weights = aweights if weights is None else weights * aweights
    if weights is None:
        total, mean = count, floating(x).mean(1, True)
    else:
        total = weights.sum()
        if count and float(total) == 0:
            raise ZeroDivisionError("cov(): expected weights whose sum isn't 0, by which is divided")
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
        raise RuntimeError(f"corrcoef(): expected input with at most 2 dimensions, got {input.dim()}")
    c = cov(input)
    if c.dim() == 0:
        return c / c
    deviation = c.diagonal().sqrt()
    return (c / deviation.reshape((-1, 1)) / deviation.reshape((1, -1))).clamp(-1, 1)


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
        raise RuntimeError(f"renorm(): expected p greater than 0, got {p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm(): expected maxnorm of at least 0, got {maxnorm}")
    if input.dim() < 2:
        raise RuntimeError(f"renorm(): expected input with 2 dimensions or more, got {input.dim()}")
    d = wrapped(dim, input.dim())
    norms = ops.norm(input, p, [k for k in range(input.dim()) if k != d], True)
    scale = ops.where(norms > maxnorm, maxnorm / (norms + 1e-7), ops.ones_like(norms))
    return into(out, input * scale)


@method
def renorm_(input, p, dim, maxnorm):
    """The in-place form of renorm()."""
    return input.copy_(renorm(input, p, dim, maxnorm))
