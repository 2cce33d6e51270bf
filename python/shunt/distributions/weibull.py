"""Weibull."""

from shunt import _operators as ops
from shunt.distributions import constraints
from shunt.distributions.exponential import Exponential
from shunt.distributions.transformed_distribution import TransformedDistribution
from shunt.distributions.transforms import AffineTransform, PowerTransform
from shunt.distributions.utils import broadcast_all

__all__ = ["Weibull"]

_EULER = 0.57721566490153286060


class Weibull(TransformedDistribution):
    """The Weibull distribution: scale times an exponential draw to the power 1 / concentration."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ops.ones_like(self.scale), validate_args=validate_args)
        parts = [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, parts, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Weibull, _instance)
        new.scale, new.concentration = self.scale.expand(batch_shape), self.concentration.expand(batch_shape)
        new.concentration_reciprocal = new.concentration.reciprocal()
        return super().expand(batch_shape, _instance=new)

    @property
    def mean(self):
        return self.scale * ops.exp(ops.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self):
        inverse = self.concentration_reciprocal
        return self.scale * ((self.concentration - 1) * inverse) ** inverse

    @property
    def variance(self):
        inverse = self.concentration_reciprocal
        return self.scale.pow(2) * (ops.exp(ops.lgamma(1 + 2 * inverse)) - ops.exp(2 * ops.lgamma(1 + inverse)))

    def entropy(self):
        inverse = self.concentration_reciprocal
        return _EULER * (1 - inverse) + ops.log(self.scale * inverse) + 1
