"""TransformedDistribution."""

from shunt import _C
from shunt.autograd import no_grad
from shunt.distributions import constraints
from shunt.distributions.distribution import Distribution
from shunt.distributions.independent import Independent
from shunt.distributions.transforms import ComposeTransform, Transform
from shunt.distributions.utils import sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of what transforms make of another's values.

    Args:
        base_distribution: the other.
        transforms: a Transform, or a list of them, applied in that order.
    """

    arg_constraints = {}

    def __init__(self, base_distribution, transforms, validate_args=None):
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(t, Transform) for t in transforms):
                raise ValueError(
                    "TransformedDistribution(): expected each of transforms to be a Transform, got "
                    f"{[type(t).__name__ for t in transforms]}"
                )
            self.transforms = transforms
        else:
            raise ValueError(
                "TransformedDistribution(): expected transforms to be a Transform or a list, got "
                f"{type(transforms).__name__}"
            )
        transform = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(shape) < transform.domain.event_dim:
            raise ValueError(
                f"TransformedDistribution(): expected a base_distribution with {transform.domain.event_dim} dimensions "
                f"or more, got shape {tuple(shape)}"
            )
        made = transform.forward_shape(shape)
        base_batch = transform.inverse_shape(made)[: len(shape) - len(base_distribution.event_shape)]
        if base_batch != base_distribution.batch_shape:
            base_distribution = base_distribution.expand(base_batch)
        missing = transform.domain.event_dim - len(base_distribution.event_shape)
        self.base_dist = Independent(base_distribution, missing) if missing > 0 else base_distribution
        change = transform.codomain.event_dim - transform.domain.event_dim
        split = len(made) - max(transform.codomain.event_dim, len(base_distribution.event_shape) + change)
        super().__init__(made[:split], made[split:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(TransformedDistribution, _instance)
        batch_shape = _C.Size(batch_shape)
        shape = ComposeTransform(self.transforms).inverse_shape(batch_shape + self.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    def _through(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape=()):
        with no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        self._checked(value)
        event_dim, result = len(self.event_shape), 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            result = result - sum_rightmost(
                transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim
            )
            y = x
        rest = event_dim - len(self.base_dist.event_shape)
        return result + sum_rightmost(self.base_dist.log_prob(y), rest)

    def _mirrored(self, value):
        """A probability where the transforms turn the order of numbers."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        self._checked(value)
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._mirrored(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._through(self.base_dist.icdf(self._mirrored(value)))
