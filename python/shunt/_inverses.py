"""Inverses of functions, by Newton's steps: their values have derivatives, as the last two steps are recorded.

The guess that the steps begin with has none. The first recorded step gives the result its first derivative, the
second those up to the third.
"""

import math

from shunt import _C
from shunt._composites._common import cast_into, floating, ops

# Winitzki's approximation of erfinv takes this number.
_WINITZKI = 0.147


def erfinv(input, *, out=None):
    """The number whose erf() is `input`; infinite at -1 and 1, and NaN beyond."""
    x = floating(input)
    y = _erfinv(x.to(_C.float64)).to(x.dtype)
    return cast_into(out, y)


def _erfinv(x):
    at = x.detach()
    edge = ~(at.abs() < 1)  # NaN, too
    inside = ops.masked_fill(x, edge, 0.0)
    at = inside.detach()
    log = ops.log1p(-at * at)
    half = 2 / (math.pi * _WINITZKI) + log / 2
    guess = at.sign() * ((half * half - log / _WINITZKI).sqrt() - half).clamp(min=0).sqrt()
    y = _newton(_newton(guess, at), at)
    y = _newton(_newton(y, inside), inside)
    at = x.detach()
    return ops.where(edge, ops.where(at.abs() == 1, at * math.inf, at * math.nan), y)


def _newton(y, x):
    return y - (ops.erf(y) - x) * ops.exp(y * y) * (math.sqrt(math.pi) / 2)
