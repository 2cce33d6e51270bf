"""Special functions: torch.special's names, for those that are made of the dictionary's operators."""

import math

from shunt._composites._common import cast_into, floating, ops
from shunt._composites.pointwise import _xlogy, exp2, logit, sinc, xlogy

erf, expit, expm1, log1p, log_softmax, logsumexp, round, softmax = (
    ops.erf,
    ops.sigmoid,
    ops.expm1,
    ops.log1p,
    ops.log_softmax,
    ops.logsumexp,
    ops.round,
    ops.softmax,
)

__all__ = [
    "entr",
    "erf",
    "exp2",
    "expit",
    "expm1",
    "log1p",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "round",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
]


def entr(input, *, out=None):
    """-x * log(x), 0 at 0, and -infinity below."""
    x = floating(input)
    inner = -x * ops.log(ops.masked_fill(x, x <= 0, 1.0))
    result = ops.where(
        x > 0, inner, ops.where(x == 0, ops.zeros_like(x), ops.where(x.isnan(), x, ops.full_like(x, -math.inf)))
    )
    return cast_into(out, result)


def ndtr(input, *, out=None):
    """The normal distribution's cumulative function."""
    x = floating(input)
    return cast_into(out, 0.5 * (1 + ops.erf(x * math.sqrt(0.5))))


def xlog1py(input, other, *, out=None):
    """input * log(1 + other), and 0 where the input is 0 unless `other` is NaN."""
    return cast_into(out, _xlogy("xlog1py", input, other, ops.log1p))
