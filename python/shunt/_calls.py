"""Calls that fit no signature: messages that name the class or function that was called, and the argument that is near.

Python's messages name the function that a class inherits (_Conv.__init__()), and no name that was meant.
"""

import functools

_VARARGS, _VARKEYWORDS = 4, 8  # inspect's flags of code; importing inspect takes as long as all of nn


def _facts(function, skip):
    """(names that may be given by keyword, names in order, how many of these have no default, whether more positions
    are taken, keywords without default), without the first `skip`; None for what takes any name."""
    if hasattr(function, "_passes_on_to"):
        function, skip = function._passes_on_to
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & _VARKEYWORDS:
        return None
    last = code.co_argcount + code.co_kwonlyargcount
    positional = code.co_varnames[skip:code.co_argcount]
    names = (*code.co_varnames[max(skip, code.co_posonlyargcount):code.co_argcount],
             *code.co_varnames[code.co_argcount:last])
    needed = len(positional) - len(function.__defaults__ or ())
    defaults = function.__kwdefaults__ or {}
    required = [n for n in code.co_varnames[code.co_argcount:last] if n not in defaults]
    return names, positional, needed, bool(code.co_flags & _VARARGS), required


def check_call(whose, function, args, kwargs, skip=0):
    """TypeError where the function, which `whose` is called by, doesn't take the arguments.

    For functions of Python whose signature is their code's; `skip` arguments come first that aren't among args.
    """
    code = getattr(function, "__code__", None)
    if not kwargs and code is not None and not code.co_kwonlyargcount:  # the usual call, in half a microsecond
        most = code.co_argcount - skip
        if most - len(function.__defaults__ or ()) <= len(args) <= most:
            return
    facts = _facts(function, skip)
    if facts is None:
        return
    names, positional, needed, takes_more, required = facts
    for name in kwargs:
        if name not in names:
            from shunt._near_names import did_you_mean
            raise TypeError(f"{whose}() got an unexpected keyword argument '{name}'{did_you_mean(name, names)}")
    missing = [n for n in (*positional[len(args):needed], *required) if n not in kwargs]
    if missing:
        raise TypeError(f"{whose}() missing required argument{'s' if len(missing) > 1 else ''}: "
                        + ", ".join(map(repr, missing)))
    if len(args) > len(positional) and not takes_more:
        raise TypeError(f"{whose}() takes at most {len(positional)} positional arguments, got {len(args)}")


def passes_on_to(function, skip):
    """A decorator of a function of (*args, **kwargs): it calls another one with them, after `skip` arguments."""

    def decorate(passing):
        passing._passes_on_to = function, skip
        return passing

    return decorate


class _SignatureOfInit:
    """inspect.signature() of the class is that of its __init__, though the class has a __new__ that takes anything."""

    def __get__(self, instance, owner):
        if instance is not None:
            raise AttributeError("__signature__")
        import inspect

        function, skip = getattr(owner.__init__, "_passes_on_to", (owner.__init__, 1))
        signature = inspect.signature(function)
        return signature.replace(parameters=list(signature.parameters.values())[skip:])


def checked_constructor(cls):
    """A class decorator: constructors of the class, and of those derived from it, check their arguments' names and
    number before __init__ runs, for messages alone."""

    def __new__(kind, *args, **kwargs):
        if args or kwargs:  # copy and pickle give none
            check_call(kind.__name__, kind.__init__, args, kwargs, 1)
        new = super(cls, kind).__new__
        return new(kind) if new is object.__new__ else new(kind, *args, **kwargs)

    cls.__new__ = staticmethod(__new__)
    cls.__signature__ = _SignatureOfInit()
    return cls


def checked_names(function):
    """A decorator: the same for a function."""

    @functools.wraps(function)
    def checked(*args, **kwargs):
        check_call(function.__name__, function, args, kwargs)
        return function(*args, **kwargs)

    return checked
