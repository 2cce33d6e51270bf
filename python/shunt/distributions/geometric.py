"""Geometric."""

from shunt import _operators as ops
from shunt import finfo
from shunt.autograd import no_grad
from shunt.distributions import constraints
from shunt.distributions._with_logits import WithLogits, check_one
from shunt.distributions.distribution import Distribution
from shunt.distributions.utils import batch_shape_of, broadcast_all
from shunt.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Geometric"]


class Geometric(WithLogits, Distribution):
    """How many trials fail before the first success, each of which has probability `probs`, or log odds `logits`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        check_one(probs, logits)
        if probs is not None:
            given, (self.probs,) = probs, broadcast_all(probs)
        else:
            given, (self.logits,) = logits, broadcast_all(logits)
        super().__init__(batch_shape_of((given,), self._param), validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Geometric(): expected probs greater than 0, got shape {tuple(self.probs.shape)} in "
                f"{self!r}:\n{self.probs}"
            )

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Geometric, ("probs", "logits"), batch_shape, _instance)

    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        return ops.zeros_like(self.probs)

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=()):
        with no_grad():
            u = ops.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
            return (u.clamp(min=finfo(u.dtype).tiny).log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        self._checked(value)
        value, probs = broadcast_all(value, self.probs)
        # 0 failures at probability 1, whose logarithm is -inf.
        probs = ops.masked_fill(probs, (probs == 1) & (value == 0), 0.0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
