"""The just-in-time compiler: which calls are hot, what was compiled, and why something is not."""

import json

from shunt import _C

__all__ = ["Explanation", "Stats", "clear", "enabled", "explain", "export", "ignore", "invalidation_log",
           "is_scripting", "is_tracing", "set_enabled", "stats", "unused", "wait_idle"]


def export(fn):
    """The function itself: a mark for TorchScript, which isn't there."""
    return fn


def unused(fn):
    """The function itself: a mark for TorchScript, which isn't there."""
    return fn


def ignore(drop=False, **kwargs):
    """The function itself, with or without arguments of the decorator: a mark for TorchScript, which isn't there."""
    return drop if callable(drop) else unused


def is_scripting():
    """False: there is no TorchScript."""
    return False


def is_tracing():
    """False: there is no TorchScript."""
    return False


def set_enabled(on):
    """Whether hot calls are compiled. Turning it off drops all compiled code."""
    _C._jit_set_enabled(on)


def enabled():
    """Whether hot calls are compiled."""
    return _C._jit_enabled()


def wait_idle():
    """Waits until all that is queued is compiled."""
    _C._jit_wait_idle()


def clear():
    """Drops all compiled code; calls have to get hot again."""
    _C._jit_clear()


class Stats(dict):
    """What the compiler has done, as a dictionary; `str(stats)` is a table."""

    def __init__(self, values, table):
        super().__init__(values)
        self._table = table

    def __str__(self):
        return self._table


def stats():
    """Counts of what was compiled, loaded and refused, and the hottest pairs of operator and kinds of arguments."""
    return Stats(json.loads(_C._jit_stats_json()), _C._jit_stats_table())


def invalidation_log():
    """What compiled code went, and why: a list of (what, cause), the oldest first."""
    return _C._jit_invalidation_log()


class Explanation(dict):
    """What dispatch and the compiler do with a call, as a dictionary; `str(explanation)` is for people."""

    def __init__(self, values, text):
        super().__init__(values)
        self._text = text

    def __str__(self):
        return self._text

    __repr__ = __str__


def _as_overload(op, args, kwargs):
    if isinstance(op, _C.OpOverload):
        return op
    if isinstance(op, str):
        name, _, overload = op.partition(".")
        if "::" not in name:
            name = "aten::" + name
        if overload:
            return _C._get_operator(name, "" if overload == "default" else overload)
        op = _C._get_packet(name)
        if op is None:
            _C._get_operator(name)  # throws, with the names that are near
    if not isinstance(op, _C.OpOverloadPacket):
        raise TypeError("explain(): expected an operator, or its name such as 'aten::add.Tensor', got "
                        f"{type(op).__name__}")
    problems = []
    for name in op.overloads():
        overload = getattr(op, name)
        try:
            _C._jit_explain(overload, *args, **kwargs)
            return overload
        except RuntimeError as error:
            problems.append(str(error))
    raise RuntimeError("explain(): no overload takes these arguments:\n" + "\n".join(problems))


def explain(op, *args, **kwargs):
    """What the call op(*args, **kwargs) does, without making it: the keys, the kernels on the way, modes, and whether
    and why it is compiled.

    op: an operator of shunt.ops, or its name, "aten::add.Tensor".
    """
    text, values = _C._jit_explain(_as_overload(op, args, kwargs), *args, **kwargs)
    return Explanation(json.loads(values), text)


def __getattr__(name):
    import sys

    from shunt._near_names import no_name
    raise no_name(__name__, name, globals(), sys._getframe(1), __file__)
