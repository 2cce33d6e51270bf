"""RelaxedOneHotCategorical and the distribution of its logarithms."""

from shunt import _operators as ops
from shunt.distributions import constraints
from shunt.distributions.categorical import Categorical
from shunt.distributions.distribution import Distribution
from shunt.distributions.transformed_distribution import TransformedDistribution
from shunt.distributions.transforms import ExpTransform
from shunt.distributions.utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The logarithms of RelaxedOneHotCategorical's values (Maddison and others 2017)."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical, self.temperature = Categorical(probs, logits), temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._expanded(ExpRelaxedCategorical, (), batch_shape, _instance)
        new.temperature, new._categorical = self.temperature, self._categorical.expand(batch_shape)
        return new

    @property
    def param_shape(self):
        return self._categorical.param_shape

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def probs(self):
        return self._categorical.probs

    def rsample(self, sample_shape=()):
        logits = self.logits.expand(self._extended_shape(sample_shape))
        u = clamp_probs(ops.rand(logits.shape, dtype=logits.dtype, device=logits.device))
        scores = (logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value):
        self._checked(value)
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        temperature = broadcast_all(self.temperature, logits[..., 0])[0]
        log_scale = ops.lgamma(ops.full_like(temperature, float(count))) + temperature.log() * (count - 1)
        score = logits - value * self.temperature
        score = (score - score.logsumexp(-1, keepdim=True)).sum(-1)
        return score + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Probabilities with gradients, which go to OneHotCategorical's values as `temperature` goes to 0."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, _instance=self._get_checked_instance(RelaxedOneHotCategorical, _instance))

    @property
    def temperature(self):
        return self.base_dist.temperature

    @property
    def logits(self):
        return self.base_dist.logits

    @property
    def probs(self):
        return self.base_dist.probs
