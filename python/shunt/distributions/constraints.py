"""What parameters and values of distributions may be: a constraint's check(value) says so for each of them."""

import operator

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


def _too_few(value, event_dim):
    return f"check(): expected a value with {event_dim} dimensions or more, got {value.dim()}"


class Constraint:
    """Base of constraints. `event_dim` is how many of the last dimensions are one value, and `is_discrete` whether
    values are apart from each other."""

    is_discrete = False
    event_dim = 0
    _bounds = ()  # the names of attributes that repr() shows

    def check(self, value):
        """Whether each value is allowed: bool, of the value's shape without its last event_dim dimensions."""
        raise NotImplementedError

    def __repr__(self):
        name = type(self).__name__.lstrip("_")
        return f"{name}({', '.join(f'{b}={getattr(self, b)}' for b in self._bounds)})"


class _Dependent(Constraint):
    """Stands for one that follows from other parameters, and can't be checked by itself."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def _known(self, value, name):
        if value is NotImplemented:
            raise NotImplementedError(
                f"{type(self).__name__}.{name} depends on the distribution's parameters; ask an object of it"
            )
        return value

    @property
    def is_discrete(self):
        return self._known(self._is_discrete, "is_discrete")

    @property
    def event_dim(self):
        return self._known(self._event_dim, "event_dim")

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        """The same with is_discrete or event_dim known."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x):
        raise ValueError(
            "dependent constraint: expected a distribution to ask, got the class's constraint, which checks nothing"
        )


def is_dependent(constraint):
    """Whether the constraint follows from other parameters."""
    return isinstance(constraint, _Dependent)


class dependent_property(property, _Dependent):
    """A property whose value is a constraint; of the class itself it is a dependent one."""

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn):
        return dependent_property(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)

    def __get__(self, obj, objtype=None):
        return self if obj is None else property.__get__(self, obj, objtype)


class _IndependentConstraint(Constraint):
    """A constraint whose last batch dimensions belong to the value."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        n = self.reinterpreted_batch_ndims
        result = self.base_constraint.check(value)
        if result.dim() < n:
            raise ValueError(_too_few(value, self.event_dim))
        return result.reshape((*result.shape[: result.dim() - n], -1)).all(-1)

    def __repr__(self):
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: its components' support, where a dimension of components is added to values."""

    def __init__(self, base_constraint):
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"independent(): expected base_constraint to be a Constraint, got {base_constraint}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim

    def check(self, value):
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(_too_few(value, self.event_dim))
        return result.reshape((*value.shape[: value.dim() - self.event_dim], -1)).all(-1)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Vectors of zeros and a single 1."""

    is_discrete = True
    event_dim = 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _IntegerInterval(Constraint):
    is_discrete = True
    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value):
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(Constraint):
    is_discrete = True
    _bounds = ("lower_bound",)

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    """Numbers, infinities among them; not NaN."""

    def check(self, value):
        return value == value


class _OneSided(Constraint):
    _holds = None

    def __init__(self, bound):
        setattr(self, self._bounds[0], bound)

    def check(self, value):
        return type(self)._holds(value, getattr(self, self._bounds[0]))


class _GreaterThan(_OneSided):
    _bounds, _holds = ("lower_bound",), operator.gt


class _GreaterThanEq(_OneSided):
    _bounds, _holds = ("lower_bound",), operator.ge


class _LessThan(_OneSided):
    _bounds, _holds = ("upper_bound",), operator.lt


class _Interval(Constraint):
    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Interval):
    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Vectors of numbers from 0 that add up to 1."""

    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts that add up to at most a number."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, x):
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


def _of_matrices(check):
    return check.reshape((*check.shape[:-2], -1)).all(-1)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value):
        return _of_matrices(value.tril() == value)


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value):
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Those whose rows have length 1."""

    def check(self, value):
        from shunt import finfo

        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        unit = ((value * value).sum(-1).sqrt() - 1).abs() <= tolerance
        return super().check(value) & unit.all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value):
        from shunt import bool as boolean_dtype, full

        return full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=boolean_dtype, device=value.device)


class _Symmetric(_Square):
    def check(self, value):
        square = super().check(value)
        return square if not square.all() else _of_matrices((value - value.mT).abs() <= 1e-6 + 1e-5 * value.mT.abs())


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        from shunt.linalg import cholesky_ex

        return symmetric & (cholesky_ex(value).info == 0)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        from shunt import eye, finfo
        from shunt.linalg import cholesky_ex

        # Rounding may leave what is singular slightly below zero.
        slack = finfo(value.dtype).eps * value.size(-1) * 10
        scale = value.diagonal(dim1=-2, dim2=-1).abs().amax(-1)[..., None, None]
        return symmetric & (cholesky_ex(value + slack * scale * eye(value.size(-1), dtype=value.dtype)).info == 0)


class _Joined(Constraint):
    """Parts along a dimension, each with a constraint."""

    def __init__(self, cseq, dim):
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("cat(), stack(): expected a Constraint for each part in cseq, got something else")
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        return max(c.event_dim for c in self.cseq)


class _Cat(_Joined):
    """Parts of the lengths `lengths`, one after the other along `dim`."""

    def __init__(self, cseq, dim=0, lengths=None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError("lengths must have one length for each constraint")

    def check(self, value):
        from shunt import cat

        return cat([c.check(v) for c, v in zip(self.cseq, value.split(self.lengths, self.dim))], self.dim)


class _Stack(_Joined):
    """Slices along `dim`."""

    def __init__(self, cseq, dim=0):
        super().__init__(cseq, dim)

    def check(self, value):
        from shunt import stack

        return stack([c.check(v) for c, v in zip(self.cseq, value.unbind(self.dim))], self.dim)


# The public names: constraints, and classes of those that take bounds.
dependent = _Dependent()
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
