"""Laplace."""

from shunt import _operators as ops
from shunt import finfo
from shunt.distributions import constraints
from shunt.distributions.distribution import Distribution
from shunt.distributions.utils import batch_shape_of, broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """The Laplace distribution: exponential on both sides of `loc`, with mean distance `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(batch_shape_of((loc, scale), self.loc), validate_args=validate_args)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return 2 * self.scale.pow(2)

    @property
    def stddev(self):
        return 2**0.5 * self.scale

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Laplace, ("loc", "scale"), batch_shape, _instance)

    def rsample(self, sample_shape=()):
        drawn = ops.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        u = (2 * drawn - 1).clamp(min=finfo(self.loc.dtype).eps - 1)
        return self.loc - self.scale * u.sign() * ops.log1p(-u.abs())

    def log_prob(self, value):
        self._checked(value)
        return -ops.log(2 * self.scale) - ops.abs(value - self.loc) / self.scale

    def cdf(self, value):
        self._checked(value)
        off = value - self.loc
        return 0.5 - 0.5 * off.sign() * ops.expm1(-off.abs() / self.scale)

    def icdf(self, value):
        off = value - 0.5
        return self.loc - self.scale * off.sign() * ops.log1p(-2 * off.abs())

    def entropy(self):
        return 1 + ops.log(2 * self.scale)
