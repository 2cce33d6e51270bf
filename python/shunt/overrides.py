"""__torch_function__: classes and modes that handle calls of Shunt's functions in Python.

    class Logged(shunt.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            print(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})
"""

import functools

from shunt import _C
from shunt._C import _has_torch_function_unary as has_torch_function_unary
from shunt._C import _has_torch_function_variadic as has_torch_function_variadic

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch", "get_default_nowrap_functions",
    "get_ignored_functions", "get_overridable_functions", "handle_torch_function", "has_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property",
    "resolve_name", "wrap_torch_function"
]


def has_torch_function(relevant_args):
    """Whether a __torch_function__ is to be asked for a call with these arguments: one has a handler, or a
    TorchFunctionMode is on."""
    return _C._has_torch_function(tuple(relevant_args))


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Lets handlers answer the call public_api(*args, **kwargs): the modes' first, then those of `relevant_args`.

    A TypeError where all return NotImplemented.
    """
    return _C._handle_torch_function(public_api, tuple(relevant_args), args, kwargs)


def _get_overloaded_args(relevant_args):
    """The arguments with a handler, one of each class, in the order in which they are asked."""
    return _C._get_overloaded_args(tuple(relevant_args))


class TorchFunctionMode:
    """A context manager whose __torch_function__ sees every call of Shunt's functions and methods in the block, on this
    thread, before classes do.

    While a handler runs, its mode is off. The innermost mode is asked first.
    """

    inner = None

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _C._push_on_torch_function_stack(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        _C._pop_torch_function_stack()

    @classmethod
    def push(cls, *args, **kwargs):
        """As cls(*args, **kwargs). Deprecated."""
        _C._warn(f"{cls.__name__}.push() is deprecated; write `with {cls.__name__}()`")
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that handles nothing: calls go on."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_function_mode():
    n = _C._len_torch_function_stack()
    return _C._get_function_stack_at(n - 1) if n > 0 else None


def _get_current_function_mode_stack():
    return [_C._get_function_stack_at(i) for i in range(_C._len_torch_function_stack())]


class _pop_mode_temporarily:
    """The innermost mode, off for a block."""

    def __enter__(self):
        self._mode = _C._pop_torch_function_stack()
        return self._mode

    def __exit__(self, *error):
        _C._push_on_torch_function_stack(self._mode)


class enable_reentrant_dispatch(_pop_mode_temporarily):
    """Inside of a handler: its calls see the thread's modes and classes again, and record gradients."""

    def __enter__(self):
        from shunt._dispatch import DispatchKeySet, _ForceDispatchKeyGuard
        self._before = _C._set_torch_function_state(0)
        self._keys = _ForceDispatchKeyGuard(_C._dispatch_tls_local_include_set(), DispatchKeySet())
        self._keys.__enter__()
        return self

    def __exit__(self, *error):
        self._keys.__exit__()
        _C._set_torch_function_state(self._before)


def wrap_torch_function(dispatcher):
    """Decorates a function, so that its calls are offered to handlers of the arguments that dispatcher(*args, **kwargs)
    returns."""

    def inner(func):
        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


@functools.lru_cache(None)
def get_default_nowrap_functions():
    """Functions whose results Tensor's own handler leaves as they are."""
    from shunt import Tensor
    return {Tensor._base.__get__, Tensor.grad.__get__}


@functools.lru_cache(None)
def get_ignored_functions():
    """Functions that never ask a __torch_function__."""
    import shunt
    return {getattr(shunt, name) for name in ("is_grad_enabled", "set_grad_enabled", "manual_seed", "initial_seed",
                                              "seed")
            if hasattr(shunt, name)}


@functools.lru_cache(None)
def get_overridable_functions():
    """Functions that handlers see, by the object that has them."""
    import shunt
    functions = [getattr(_C._functions, name) for name in dir(_C._functions) if not name.startswith("_")]
    methods = []
    for name in dir(shunt.Tensor):
        value = getattr(shunt.Tensor, name)
        if name.startswith("__") and name not in ("__getitem__", "__setitem__", "__len__", "__bool__", "__float__",
                                                  "__int__"):
            continue
        if type(value).__name__ == "getset_descriptor":
            methods.append(value.__get__)
        elif callable(value):
            methods.append(value)
    return {shunt: functions, shunt.Tensor: methods}


@functools.lru_cache(None)
def _names():
    import shunt
    names = {}
    for owner, functions in get_overridable_functions().items():
        prefix = _C._shown_package() + ("" if owner is shunt else ".Tensor")
        for f in functions:
            name = getattr(f, "__name__", "")
            if name == "__get__":
                name = f.__self__.__name__ + ".__get__"
            names[f] = f"{prefix}.{name}"
    return names


def resolve_name(f):
    """The name of a function that handlers see, as programs write it: "shunt.Tensor.add"; None for others."""
    if isinstance(f, (_C.OpOverload, _C.OpOverloadPacket)):
        return str(f)
    return _names().get(f)


def is_tensor_method_or_property(func):
    """Whether a function that a handler got is a method or a property of Tensor."""
    import shunt
    return func in get_overridable_functions()[shunt.Tensor] or getattr(func, "__name__", "") in ("__get__", "__set__")


def is_tensor_like(inp):
    """Whether it is a Tensor, or has a __torch_function__."""
    import shunt
    return type(inp) is shunt.Tensor or hasattr(inp, "__torch_function__")
