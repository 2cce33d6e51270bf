"""TorchDispatchMode: code of a program's own that sees every operator of a thread, or computes in its place.

    class Logging(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            print(func)
            return func(*args, **(kwargs or {}))

    with Logging():
        model(x)
"""

import contextlib

from shunt import _C

__all__ = ["BaseTorchDispatchMode", "TorchDispatchMode", "is_traceable_wrapper_subclass", "return_and_correct_aliasing"]


class TorchDispatchMode:
    """A context manager whose __torch_dispatch__ gets the operators that run in the block, on this thread, in the
    kernels' place: below autograd and autocast, composites as the operators that they are made of.

    `func` is an OpOverload (shunt.ops.aten.add.Tensor), `types` the classes of arguments that have a
    __torch_dispatch__ of their own, `args` and `kwargs` the arguments without those that have their defaults. What it
    returns gets its gradient from the operator's formula. While it runs its mode is off, so func(*args, **kwargs) goes
    to the next outer mode, and then to the kernels. What it raises comes out of the call as it was.
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key=None):
        pass

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _C._push_on_torch_dispatch_stack(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        _C._pop_torch_dispatch_stack()

    @classmethod
    def push(cls, *args, **kwargs):
        """As cls(*args, **kwargs). Deprecated."""
        _C._warn(f"{cls.__name__}.push() is deprecated; write `with {cls.__name__}()`")
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls):
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that handles nothing: calls go on."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode():
    """The innermost mode that is on for calls on this thread, or None."""
    stack = _C._get_dispatch_stack()
    return stack[-1] if stack else None


def _get_current_dispatch_mode_stack():
    """The modes that are on for calls on this thread, the innermost last."""
    return _C._get_dispatch_stack()


def _push_mode(mode):
    _C._push_on_torch_dispatch_stack(mode)


def _pop_mode(k=None):
    return _C._pop_torch_dispatch_stack()


def is_in_torch_dispatch_mode(include_infra_modes=True):
    return _C._len_torch_dispatch_stack() > 0


@contextlib.contextmanager
def _pop_mode_temporarily(k=None):
    """The innermost mode, off for a block."""
    mode = _C._pop_torch_dispatch_stack()
    try:
        yield mode
    finally:
        _C._push_on_torch_dispatch_stack(mode)


@contextlib.contextmanager
def _disable_current_modes():
    """No mode is on in the block. Gives the list of those that were."""
    modes = _C._get_dispatch_stack()
    off = _C._switch_off_dispatch_modes()
    try:
        yield modes
    finally:
        _C._switch_on_dispatch_modes(off)


def is_traceable_wrapper_subclass_type(t):
    return hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t):
    """Whether it is a Tensor of a class that says what it is made of: __tensor_flatten__ and __tensor_unflatten__."""
    return isinstance(t, _C.TensorBase) and type(t) is not _C.TensorBase and is_traceable_wrapper_subclass_type(type(t))


def return_and_correct_aliasing(func, args, kwargs, out):
    """For handlers of wrapper classes: the arguments themselves in the place of results that the operator's schema says
    are written arguments (in-place, out=)."""
    schema = func._schema
    by_alias = {}
    for i, argument in enumerate(schema.arguments):
        if argument.is_write:
            value = args[i] if i < len(args) else kwargs.get(argument.name)
            by_alias[tuple(sorted(argument.alias_info.after_set))] = value

    def corrected(result, declared):
        if declared.alias_info is None or not declared.alias_info.is_write:
            return result
        return by_alias.get(tuple(sorted(declared.alias_info.after_set)), result)

    if not by_alias or not schema.returns:
        return out
    if len(schema.returns) == 1:
        return corrected(out, schema.returns[0])
    return type(out)(corrected(r, d) for r, d in zip(out, schema.returns))
