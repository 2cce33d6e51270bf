"""Multinomial."""

from shunt import _operators as ops
from shunt.distributions import constraints
from shunt.distributions.categorical import Categorical
from shunt.distributions.distribution import Distribution
from shunt.distributions.utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each of the numbers 0 to n - 1 is drawn in total_count draws with `probs`, or `logits`, of
    Categorical."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError(
                f"Multinomial(): expected total_count to be one int, got {type(total_count).__name__}"
            )
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._expanded(Multinomial, (), batch_shape, _instance)
        new.total_count, new._categorical = self.total_count, self._categorical.expand(batch_shape)
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def param_shape(self):
        return self._categorical.param_shape

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        drawn = drawn.permute((*range(1, drawn.dim()), 0))
        counts = ops.zeros(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
        return counts.scatter_add_(-1, drawn, ops.ones_like(drawn, dtype=counts.dtype))

    def log_prob(self, value):
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        # A count of 0 adds nothing, whatever its logarithm.
        logits = logits.masked_fill((value == 0) & (logits == -float("inf")), 0)
        return ops.lgamma(value.sum(-1) + 1) - ops.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    def entropy(self):
        from shunt.distributions.binomial import Binomial

        n = ops.scalar_tensor(float(self.total_count), dtype=self.probs.dtype)
        counts = Binomial(self.total_count, probs=self.probs)
        support = counts.enumerate_support(expand=False)[1:]
        weights = counts.log_prob(support).exp()
        weighted = (weights * ops.lgamma(support + 1)).sum((0, -1))
        return n * self._categorical.entropy() - ops.lgamma(n + 1) + weighted
