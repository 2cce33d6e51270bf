"""The logarithm of the gamma function."""

import math

from shunt import _C


def gammaln(x):
    """log |gamma(x)|, in x's dtype: for numbers above 0 by Stirling's series at x + 8, less the factors between."""
    y = x.to(_C.float64)
    z, product = y + 8, y
    for i in range(1, 8):
        product = product * (y + i)
    inverse = 1 / z
    square = inverse * inverse
    series = 1 / 1680 - square * (1 / 1188 - square * (691 / 360360))
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * series)))
    return ((z - 0.5) * z.log() - z + 0.5 * math.log(2 * math.pi) + series - product.log()).to(x.dtype)
