"""Binomial."""

from shunt import _operators as ops
from shunt._composites.sampling import binomial
from shunt.distributions import constraints
from shunt.distributions._with_logits import WithLogits, check_one
from shunt.distributions.distribution import Distribution
from shunt.distributions.utils import broadcast_all

__all__ = ["Binomial"]


class Binomial(WithLogits, Distribution):
    """How many of total_count trials succeed, each with probability `probs`, or log odds `logits`."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        check_one(probs, logits)
        if probs is not None:
            self.total_count, self.probs = broadcast_all(total_count, probs)
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Binomial, ("total_count", "probs", "logits"), batch_shape, _instance)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        self._checked(value)
        n, logits = self.total_count, self.logits
        choices = ops.lgamma(n + 1) - ops.lgamma(value + 1) - ops.lgamma(n - value + 1)
        # n * log(1 + exp(logits)), for logits of any size.
        normalizer = n * (logits.clamp(min=0) + ops.log1p(ops.exp(-logits.abs())))
        return choices + value * logits - normalizer

    def _equal_count(self):
        count = int(self.total_count.max())
        if not int(self.total_count.min()) == count:
            raise NotImplementedError(
                "Binomial: entropy() and enumerate_support() expected one total_count for the whole batch, got several"
            )
        return count

    def entropy(self):
        self._equal_count()
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        count = self._equal_count()
        return self._enumerated(ops.arange(1 + count, dtype=self._param.dtype, device=self._param.device), expand)
