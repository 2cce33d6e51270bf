"""Function: operators with a forward and a backward written in Python."""

import functools

from shunt import _C
from shunt._C import TensorBase, _FunctionBase, _set_function_class, is_grad_enabled
from shunt.autograd._grad_mode import no_grad

__all__ = ["Function", "FunctionCtx", "NestedIOFunction", "once_differentiable"]


_NO_BACKWARD = "Function: a derived class defines either the backward or vjp method to have a gradient"


class FunctionCtx:
    """What `ctx` is: forward keeps on it what backward needs, as attributes, or by save_for_backward."""

    def mark_shared_storage(self, *pairs):
        """Does nothing; Shunt finds out by itself which tensors share memory."""
        _C._warn(
            "mark_shared_storage() is deprecated and does nothing: shared memory is found without it",
            FutureWarning,
        )


class BackwardCFunction(_FunctionBase, FunctionCtx):
    """The base of the contexts of all functions; for each Function there is a class <Name>Backward."""

    def apply(self, *grads):
        """Calls the function's backward."""
        function = type(self)._forward_cls
        backward = function.backward if function.vjp is Function.vjp else function.vjp
        return backward(self, *grads)


class FunctionMeta(type):
    """Makes the class of contexts for each Function."""

    def __init__(cls, name, bases, namespace):
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,),
                                 {"_forward_cls": cls, "__module__": __name__})
        super().__init__(name, bases, namespace)


class Function(_FunctionBase, FunctionCtx, metaclass=FunctionMeta):
    """The base of operators whose gradient a program writes.

    A class derived from it has static methods, and is used by its `apply`, never made an object of:

        class Sine(Function):
            @staticmethod
            def forward(ctx, angle):
                ctx.save_for_backward(angle)
                return angle.sin()

            @staticmethod
            def backward(ctx, grad):
                angle, = ctx.saved_tensors
                return angle.cos() * grad

        y = Sine.apply(x)

    Instead of forward(ctx, ...) there may be forward(...) and setup_context(ctx, inputs, output). What backward does is
    recorded in turn where create_graph is set. Exceptions of both come out as they were.
    """

    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        _C._warn(
            f"{type(self).__name__}: expected a call of {type(self).__name__}.apply(), got an object of the class; "
            "the methods of a Function are static",
            DeprecationWarning,
        )

    def __call__(self, *args, **kwargs):
        name = type(self).__name__
        raise RuntimeError(f"{name}: expected a static forward(), and a call of {name}.apply(), got one of an object")

    @staticmethod
    def forward(*args, **kwargs):
        """forward(ctx, *args), or forward(*args) where there is a setup_context: computes the result.

        Takes anything; gradients go to Tensors among the arguments, those in lists aside. Returns a Tensor or a tuple
        with Tensors in it.
        """
        raise NotImplementedError("Function: expected a derived class to define forward(), got one without")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keeps on ctx what backward needs. `inputs`: the tuple of forward's arguments; `output`: what it returned."""
        raise NotImplementedError("Function: expected a forward() without ctx to have setup_context(), got none")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """The gradients of forward's arguments, None for those that have none, from those of its results."""
        raise NotImplementedError(_NO_BACKWARD)

    @staticmethod
    def vjp(ctx, *grad_outputs):
        """Another name for backward."""
        raise NotImplementedError(_NO_BACKWARD)

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Not called: Shunt has no forward mode."""
        raise NotImplementedError("jvp: Shunt has no forward-mode differentiation; autograd.functional.jvp goes "
                                  "backward "
                                  "twice instead")

    @staticmethod
    def vmap(info, in_dims, *args):
        """Not called: under vmap, write forward with operators, which have rules."""
        raise NotImplementedError("vmap: rules of a Function's own are not supported")


@functools.lru_cache(maxsize=512)
def _signature(forward):
    import inspect  # costs more to import than the rest of the package
    return inspect.signature(forward)


def _bind(cls, args, kwargs):
    """Positional arguments of forward, from keywords, and with defaults where setup_context gets to see them."""
    has_setup = cls.setup_context is not Function.setup_context
    signature = _signature(cls.forward)
    given = args if has_setup else (None, *args)
    kwargs = kwargs or {}
    for name in kwargs:
        parameter = signature.parameters.get(name)
        if parameter is None or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
    try:
        bound = signature.bind(*given, **kwargs)
    except TypeError:
        if kwargs:
            raise
        return args  # the call itself says what is wrong
    if has_setup:
        bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(f"forward() got an unexpected keyword argument '{next(iter(bound.kwargs))}'")
    return bound.args if has_setup else bound.args[1:]


_set_function_class(Function, _bind)


class _NotDifferentiableTwice(Function):
    @staticmethod
    def forward(ctx, *grads):
        return tuple(None if g is None else g.view_as(g) for g in grads)

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError("@once_differentiable: expected one backward through the function, got one of its gradient")


def once_differentiable(fn):
    """Decorates a backward that can't be differentiated in turn: it runs without recording, and who differentiates its
    results gets RuntimeError."""

    @functools.wraps(fn)
    def wrapper(ctx, *args):
        with no_grad():
            outputs = fn(ctx, *args)
        if not is_grad_enabled() or not any(isinstance(a, TensorBase) and a.requires_grad for a in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        # With gradients of their own, so that the error comes when somebody asks for them.
        grads = [o.detach().requires_grad_() if isinstance(o, TensorBase) and o.is_floating_point() else o
                 for o in several]
        return _NotDifferentiableTwice.apply(*grads)

    return wrapper


class NestedIOFunction(Function):
    """Functions whose arguments or results are nested lists aren't supported: flatten them in a function of yours."""

    @staticmethod
    def forward(ctx, *args):
        raise NotImplementedError("NestedIOFunction: flatten nested arguments, and derive from Function")
