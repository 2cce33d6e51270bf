"""Distribution, the base of all."""


from shunt import _C
from shunt import _operators as ops
from shunt._tensor import Tensor
from shunt.autograd import no_grad
from shunt.distributions.constraints import is_dependent
from shunt.distributions.utils import holds, lazy_property

__all__ = ["Distribution"]


class Distribution:
    """Base of distributions: a batch of random variables, each an event.

    Args:
        batch_shape: how many distributions there are.
        event_shape: the shape of one value.
        validate_args: whether parameters and values are checked; set_default_validate_args() says what None means.
    ValueError for a parameter out of its constraint.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Whether arguments are checked where a distribution isn't told."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = _C.Size(batch_shape), _C.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self):
        try:
            constraints = self.arg_constraints
        except NotImplementedError:
            constraints = {}
            _C._warn(
                f"{type(self).__name__} has no arg_constraints, so its parameters go unchecked; define it, empty "
                "perhaps, or pass validate_args=False",
            )
        if _C._is_recording():
            return  # the values of a graph's tensors aren't known, and the first call has checked its own
        for name, constraint in constraints.items():
            unmade = name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property)
            if is_dependent(constraint) or unmade:
                continue
            value = getattr(self, name)
            if not holds(constraint.check(value)):
                raise ValueError(
                    f"{type(self).__name__}(): expected parameter {name} within {constraint!r}, got "
                    f"{type(value).__name__} of shape {tuple(value.shape)} in {self!r}:\n{value}"
                )

    def expand(self, batch_shape, _instance=None):
        """The distribution with its parameters repeated to a batch shape, as views."""
        raise NotImplementedError

    @property
    def batch_shape(self):
        """How many distributions there are."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one value."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """The constraints of parameters, by name."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint of values."""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean; batch_shape + event_shape."""
        raise NotImplementedError

    @property
    def mode(self):
        """The most probable value; batch_shape + event_shape."""
        raise NotImplementedError(f"{type(self).__name__} has no mode")

    @property
    def variance(self):
        """The variance; batch_shape + event_shape."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """Values drawn without a gradient; sample_shape + batch_shape + event_shape."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Values drawn such that gradients go to the parameters. NotImplementedError where has_rsample is False."""
        raise NotImplementedError

    def sample_n(self, n):
        """sample((n,)), by its old name."""
        _C._warn("sample_n(n) is an old name; call sample((n,))", UserWarning)
        return self.sample((n,))

    def log_prob(self, value):
        """The logarithm of the density, or of the probability, of values."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of a value up to this one."""
        raise NotImplementedError

    def icdf(self, value):
        """The value up to which a probability lies: the inverse of cdf."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values, along a new first dimension: (number of values,) + batch_shape + event_shape, or where
        `expand` is False (number of values,) + (1,) * len(batch_shape) + event_shape."""
        raise NotImplementedError

    def entropy(self):
        """The entropy in nats; batch_shape."""
        raise NotImplementedError

    def perplexity(self):
        """exp(entropy)."""
        return ops.exp(self.entropy())

    def _extended_shape(self, sample_shape=()):
        return _C.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _enumerated(self, values, expand):
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def _validate_sample(self, value):
        """ValueError for values of another shape, or out of the support."""
        if not isinstance(value, Tensor):
            raise ValueError(
                f"{type(self).__name__}.log_prob(): expected value to be a Tensor, got {type(value).__name__}"
            )
        if value.shape[value.dim() - len(self._event_shape) :] != self._event_shape:
            raise ValueError(
                f"{type(self).__name__}.log_prob(): expected a value whose shape ends with {tuple(self._event_shape)}, "
                f"the event's, got {tuple(value.shape)}"
            )
        expected = self._batch_shape + self._event_shape
        if any(i != 1 and j != 1 and i != j for i, j in zip(reversed(value.shape), reversed(expected))):
            raise ValueError(
                f"{type(self).__name__}.log_prob(): expected a value that broadcasts with {tuple(expected)}, the shape "
                f"of batch and event, got {tuple(value.shape)}"
            )
        try:
            support = self.support
        except NotImplementedError:
            _C._warn(
                f"{type(self).__name__} has no support, so samples go unchecked; define it, or pass "
                "validate_args=False",
            )
            return
        if not _C._is_recording() and not holds(support.check(value)):
            raise ValueError(
                f"{type(self).__name__}.log_prob(): expected a value within the support {support!r}, got "
                f"{type(value).__name__} of shape {tuple(value.shape)} for {self!r}:\n{value}"
            )

    def _checked(self, value):
        if self._validate_args:
            self._validate_sample(value)

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"{type(self).__name__} has an __init__ other than {cls.__name__}'s; expected an expand() of its own "
                "too"
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _expanded(self, cls, names, batch_shape, instance):
        """expand() for parameters, by name, whose shape is batch_shape + event_shape; those that aren't made yet are
        left."""
        new = self._get_checked_instance(cls, instance)
        batch_shape = _C.Size(batch_shape)
        for name in names:
            if name in self.__dict__:
                value = self.__dict__[name]
                rest = value.shape[len(self._batch_shape) :]
                setattr(new, name, value.expand(batch_shape + rest))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def __repr__(self):
        def text(value):
            return value if value.numel() == 1 else value.size()

        names = [name for name in self.arg_constraints if name in self.__dict__]
        return f"{type(self).__name__}({', '.join(f'{name}: {text(self.__dict__[name])}' for name in names)})"
