"""Special functions: torch.special's names, for those that are made of the dictionary's operators."""

import math

from shunt import _C
from shunt._composites._common import cast_into, floating, ops
from shunt._inverses import erfinv

digamma, erf, erfc, exp2, expit, expm1, gammaln, log1p, log_softmax, logit, logsumexp, polygamma, psi, round, sinc = (
    ops.digamma,
    ops.erf,
    ops.erfc,
    ops.exp2,
    ops.sigmoid,
    ops.expm1,
    ops.lgamma,
    ops.log1p,
    ops.log_softmax,
    ops.logit,
    ops.logsumexp,
    ops.polygamma,
    ops.digamma,
    ops.round,
    ops.sinc,
)
softmax, xlogy = ops.softmax, ops.xlogy

__all__ = [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "i0",
    "log1p",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "polygamma",
    "psi",
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


def multigammaln(input, p, *, out=None):
    """mvlgamma(), by another name."""
    from shunt._rare_functions import mvlgamma

    return mvlgamma(input, p, out=out)


def ndtr(input, *, out=None):
    """The normal distribution's cumulative function."""
    x = floating(input)
    return cast_into(out, 0.5 * (1 + ops.erf(x * math.sqrt(0.5))))


def xlog1py(input, other, *, out=None):
    """input * log(1 + other), and 0 where the input is 0 unless `other` is NaN; one of the two may be a number."""
    x, y = (v if isinstance(v, _C.TensorBase) else _like(v, input, other) for v in (input, other))
    zero = (x == 0) & y.isnan().logical_not()
    return cast_into(out, floating(x) * ops.log1p(ops.where(zero, ops.zeros_like(y), y)))


def _like(number, *operands):
    tensors = [t for t in operands if isinstance(t, _C.TensorBase)]
    if not tensors:
        raise TypeError("xlog1py(): argument 'input' must be Tensor, not " + type(number).__name__)
    return ops.scalar_tensor(number, dtype=floating(tensors[0]).dtype, device=tensors[0].device)


def i0(input, *, out=None):
    """The modified Bessel function of the first kind of order 0."""
    from shunt._windows import bessel_0

    x = floating(input)
    return cast_into(out, bessel_0(x.double()).to(x.dtype))


def __getattr__(name):
    import sys

    from shunt._near_names import no_name
    raise no_name(__name__, name, globals(), sys._getframe(1), __file__)
