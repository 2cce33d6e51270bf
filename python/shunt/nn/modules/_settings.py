"""Configured: the base of modules that call one function of nn.functional with the settings of their constructor."""

from operator import attrgetter

from shunt.nn import functional as F
from shunt.nn.modules.module import Module


def bound(name, names, args, kwargs):
    """The settings that a constructor was given, by name. TypeError as for a function with these parameters."""
    if len(args) > len(names):
        raise TypeError(f"{name}() takes at most {len(names)} arguments, got {len(args)}")
    given = dict(zip(names, args))
    for key, value in kwargs.items():
        if key not in names:
            from shunt._near_names import did_you_mean
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'{did_you_mean(key, names)}")
        if key in given:
            raise TypeError(f"{name}() got multiple values for argument '{key}'")
        given[key] = value
    return given


def check_numbers(name, given, defaults):
    """TypeError for a text in the place of a number, by the defaults' types."""
    for key, value in given.items():
        if isinstance(value, (str, bytes)) and type(defaults.get(key)) in (int, float):
            raise TypeError(f"{name}(): expected {key} to be a number, got {value!r}")


class SignatureOf:
    """__signature__ of a class, for inspect and help(): of these names in order, with defaults.

    Made when it is asked for, as importing inspect takes longer than all of nn.
    """

    def __init__(self, names, defaults):
        self._names, self._defaults = names, defaults

    def __get__(self, module, cls=None):
        from inspect import Parameter, Signature

        kind = Parameter.POSITIONAL_OR_KEYWORD
        return Signature(
            [Parameter(name, kind, default=self._defaults.get(name, Parameter.empty)) for name in self._names]
        )


class Configured(Module):
    """Calls a function of nn.functional with the settings that the constructor was given.

    Raises TypeError for a setting that is unknown, given twice, or missing.
    """

    _names = ()  # settings in the order of the constructor's arguments
    _defaults = {}  # those that may be left out

    def __init__(self, *args, **kwargs):
        super().__init__()
        given = bound(type(self).__name__, self._names, args, kwargs)
        check_numbers(type(self).__name__, given, self._defaults)
        for name in self._names:
            if name not in given and name not in self._defaults:
                raise TypeError(f"{type(self).__name__}() missing required argument: '{name}'")
            setattr(self, name, given.get(name, self._defaults.get(name)))

    def extra_repr(self):
        shown = []
        for name in self._names:
            value = getattr(self, name)
            if name == "inplace":
                shown += ["inplace=True"] if value else []
            else:
                shown.append(f"{name}={value!r}")
        return ", ".join(shown)


def _forward_of(function, names):
    """The forward function: one of three, as calls of small modules are mostly the cost of finding their settings."""
    get = attrgetter(*names) if names else None

    def without(self, input):
        return getattr(F, function)(input)

    def with_one(self, input):
        return getattr(F, function)(input, get(self))

    def with_more(self, input):
        return getattr(F, function)(input, *get(self))

    forward = without if not names else with_one if len(names) == 1 else with_more
    forward.__name__ = forward.__qualname__ = "forward"
    return forward


def configured(name, function, doc, required=(), base=Configured, **defaults):
    """A class of modules that call nn.functional's `function` with settings: those required, and those with
    defaults."""
    names = (*required, *defaults)
    return type(
        name,
        (base,),
        {
            "_names": names,
            "_defaults": defaults,
            "forward": _forward_of(function, names),
            "__signature__": SignatureOf(names, defaults),
            "__doc__": doc,
            "__module__": "shunt.nn",
            "__qualname__": name,
        },
    )


def check_sizes(module, **sizes):
    """TypeError for a size that is no int."""
    for name, value in sizes.items():
        if not hasattr(type(value), "__index__"):
            raise TypeError(f"{module}(): argument '{name}' must be int, not {type(value).__name__}")
