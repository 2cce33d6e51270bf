"""OneHotCategorical, and the one with gradients."""

from shunt.distributions import constraints
from shunt.distributions.categorical import Categorical
from shunt.distributions.distribution import Distribution

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """Categorical whose values are vectors of zeros with a 1 at the number drawn."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._expanded(OneHotCategorical, (), batch_shape, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return new

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def mean(self):
        return self._categorical.probs

    @property
    def mode(self):
        return self._one_hot(self._categorical.mode).to(self.probs)

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    @property
    def param_shape(self):
        return self._categorical.param_shape

    def _one_hot(self, numbers):
        from shunt.nn.functional import one_hot

        return one_hot(numbers, self._categorical._num_events)

    def sample(self, sample_shape=()):
        return self._one_hot(self._categorical.sample(sample_shape)).to(self._categorical._param.dtype)

    def log_prob(self, value):
        self._checked(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        from shunt import eye

        n = self.event_shape[0]
        like = self._categorical._param
        values = eye(n, dtype=like.dtype, device=like.device).view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """Its samples have the gradient of their probabilities (Bengio and others 2013)."""

    has_rsample = True

    def rsample(self, sample_shape=()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
