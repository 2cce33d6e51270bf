"""functionalize: functions that write in place run without a write."""

import functools

from shunt import Tensor, _C
from shunt.utils._pytree import tree_map_only


def functionalize(func, *, remove="mutations"):
    """A function that does what `func` does, but in which every operator that writes is run as the one that computes a
    new value; arguments that func writes are written once, at the end.

    Args:
        func: takes and returns tensors, and containers of them.
        remove: "mutations", or "mutations_and_views", which here is the same: views stay operators.

    When func raises, the arguments are as they were.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError("functionalize(f, remove='mutations'): valid options for removal are: remove='mutations' "
                           f"and remove='mutations_and_views', got remove={remove!r}")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        call = _C._functionalize_call()

        def into(t):
            return _C._functionalize_wrap(call, t)

        def out_of(t):
            return _C._functionalize_unwrap(call, t)

        args, kwargs = tree_map_only(Tensor, into, (args, kwargs))
        before = _C._tls_include(_C.DispatchKeySet("Functionalize"), True)
        try:
            result = func(*args, **kwargs)
        finally:
            if not before:
                _C._tls_include(_C.DispatchKeySet("Functionalize"), False)
        _C._functionalize_write_back(call)
        return tree_map_only(Tensor, out_of, result)

    return wrapped
