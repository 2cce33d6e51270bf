"""Gumbel."""

import math

from shunt import finfo
from shunt.distributions import constraints
from shunt.distributions.transformed_distribution import TransformedDistribution
from shunt.distributions.transforms import AffineTransform, ExpTransform
from shunt.distributions.uniform import Uniform
from shunt.distributions.utils import broadcast_all

__all__ = ["Gumbel"]

_EULER = 0.57721566490153286060


class Gumbel(TransformedDistribution):
    """The Gumbel distribution: of the largest of many values."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        low, high = limits.tiny, 1 - limits.eps
        if isinstance(loc, (int, float)) and isinstance(scale, (int, float)):
            base = Uniform(low, high, validate_args=False)
        else:
            base = Uniform(
                self.loc.new_full(self.loc.shape, low), self.loc.new_full(self.loc.shape, high), validate_args=False
            )
        double_log = [ExpTransform().inv, AffineTransform(0, -1), ExpTransform().inv]  # x to log(-log(x))
        super().__init__(base, [*double_log, AffineTransform(self.loc, -self.scale)], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Gumbel, _instance)
        new.loc, new.scale = self.loc.expand(batch_shape), self.scale.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    def log_prob(self, value):
        self._checked(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self):
        return self.loc + self.scale * _EULER

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self):
        return self.stddev.pow(2)

    def entropy(self):
        return self.scale.log() + (1 + _EULER)
