"""Bernoulli."""

from shunt import _operators as ops
from shunt.autograd import no_grad
from shunt.distributions import constraints
from shunt.distributions._with_logits import WithLogits, check_one
from shunt.distributions.exp_family import ExponentialFamily
from shunt.distributions.utils import batch_shape_of, broadcast_all
from shunt.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Bernoulli"]


class Bernoulli(WithLogits, ExponentialFamily):
    """1 with probability `probs`, or log odds `logits`; else 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, validate_args=None):
        check_one(probs, logits)
        if probs is not None:
            given, (self.probs,) = probs, broadcast_all(probs)
        else:
            given, (self.logits,) = logits, broadcast_all(logits)
        super().__init__(batch_shape_of((given,), self._param), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Bernoulli, ("probs", "logits"), batch_shape, _instance)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        # Neither is more probable than the other at a half.
        return ops.where(self.probs == 0.5, float("nan"), (self.probs >= 0.5).to(self.probs))

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        with no_grad():
            return ops.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return self._enumerated(ops.arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    @property
    def _natural_params(self):
        return (ops.log(self.probs) - ops.log1p(-self.probs),)

    def _log_normalizer(self, x):
        return ops.log1p(x.exp())
