"""Parameter and Buffer: tensors that modules keep."""

from shunt import _C
from shunt._tensor import Tensor


class _ParameterMeta(type(Tensor)):
    def __instancecheck__(cls, instance):
        # A tensor of a program's own class that was made a parameter is one, too.
        return type.__instancecheck__(cls, instance) or (
            cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False))


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module counts among its parameters when it is assigned to an attribute.

    Args:
        data: the tensor whose elements it has; an empty one by default.
        requires_grad: whether it is recorded for gradients.
    """

    __module__ = "shunt.nn"
    _prints_as_tensor = True  # and not with the name of the class

    def __new__(cls, data=None, requires_grad=True):
        from shunt import empty
        if data is None:
            data = empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter(): data must be a Tensor, not {type(data).__name__}")
        parameter = data.detach().requires_grad_(requires_grad)
        if type(parameter) is not type(data):
            raise RuntimeError(f"Creating a Parameter from an instance of type {type(data).__name__} requires that "
                               f"detach() returns an instance of the same type, but it returned {type(parameter).__name__}")
        parameter._is_param = True
        return parameter

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        copy = type(self)(self.data.clone(), self.requires_grad)
        memo[id(self)] = copy
        return copy

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol):
        return _rebuild_parameter, (self.data, self.requires_grad)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        # Operators on parameters give plain tensors.
        return _C._disabled_torch_function_impl(func, types, args, kwargs or {})


_C._set_parameter_class(Parameter)


def _rebuild_parameter(data, requires_grad):
    return Parameter(data, requires_grad)


class Buffer(Tensor):
    """Marks a tensor that is to be a buffer of the module that it is assigned to.

    Args:
        data: the tensor.
        persistent: whether it is part of the module's state_dict.
    """

    __module__ = "shunt.nn"

    def __new__(cls, data=None, *, persistent=True):
        from shunt import empty
        buffer = (empty(0) if data is None else data).detach().requires_grad_(data is not None and data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer
