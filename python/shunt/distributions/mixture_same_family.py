"""MixtureSameFamily."""

from shunt import _C
from shunt import _operators as ops
from shunt.autograd import no_grad
from shunt.distributions import constraints
from shunt.distributions.categorical import Categorical
from shunt.distributions.constraints import MixtureSameFamilyConstraint
from shunt.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of distributions of one class.

    Args:
        mixture_distribution: a Categorical, which draws the component.
        component_distribution: the components, along the last batch dimension.
    """

    arg_constraints = {}

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        for argument, given, wanted in (
            ("mixture_distribution", mixture_distribution, Categorical),
            ("component_distribution", component_distribution, Distribution),
        ):
            if not isinstance(given, wanted):
                raise ValueError(
                    f"MixtureSameFamily(): expected {argument} to be a {wanted.__name__}, got {type(given).__name__}"
                )
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        of_mixture, of_components = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(of_mixture), reversed(of_components)):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"MixtureSameFamily(): the mixture's batch shape {tuple(of_mixture)} and the components' "
                    f"{tuple(of_components)} don't broadcast"
                )
        count = component_distribution.batch_shape[-1]
        if mixture_distribution._num_events != count:
            raise ValueError(
                "MixtureSameFamily(): expected as many components as the mixture has, "
                f"{mixture_distribution._num_events}, got {count}"
            )
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(of_components, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = _C.Size(batch_shape)
        new._component_distribution = self._component_distribution.expand(batch_shape + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self):
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        return self._mixture_distribution

    @property
    def component_distribution(self):
        return self._component_distribution

    def _weights(self):
        probs = self.mixture_distribution.probs
        return probs.reshape((*probs.shape, *(1,) * self._event_ndims))

    @property
    def _dim(self):
        return -1 - self._event_ndims

    @property
    def mean(self):
        return (self._weights() * self.component_distribution.mean).sum(self._dim)

    @property
    def variance(self):
        weights, means = self._weights(), self.component_distribution.mean
        within = (weights * self.component_distribution.variance).sum(self._dim)
        between = (weights * (means - self.mean.unsqueeze(self._dim)).pow(2)).sum(self._dim)
        return within + between

    def cdf(self, x):
        x = self._pad(x)
        return (self.component_distribution.cdf(x) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x):
        self._checked(x)
        components = self.component_distribution.log_prob(self._pad(x))
        weights = ops.log_softmax(self.mixture_distribution.logits, -1)
        return ops.logsumexp(components + weights, -1)

    def sample(self, sample_shape=()):
        with no_grad():
            which = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            event = self.event_shape
            index = which.reshape((*which.shape, 1, *(1,) * len(event))).expand((*which.shape, 1, *event))
            return drawn.gather(self._dim, index).squeeze(self._dim)

    def _pad(self, x):
        return x.unsqueeze(self._dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
