"""Parameter and Buffer: tensors that modules keep."""

from shunt import _C
from shunt._tensor import Tensor


class _ParameterMeta(type(Tensor)):
    def __instancecheck__(cls, instance):
        # A tensor of a program's own class that was made a parameter is one, too.
        return type.__instancecheck__(cls, instance) or (
            cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)
        )


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
            raise TypeError(f"Parameter(): expected data to be a Tensor, got {type(data).__name__}")
        parameter = data.detach().requires_grad_(requires_grad)
        if type(parameter) is not type(data):
            raise RuntimeError(
                f"Parameter(): expected {type(data).__name__}.detach() to return a {type(data).__name__}, got "
                f"{type(parameter).__name__}"
            )
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
        persistent: whether the module's state_dict has it.
    """

    __module__ = "shunt.nn"

    def __new__(cls, data=None, *, persistent=True):
        from shunt import empty

        buffer = (empty(0) if data is None else data).detach().requires_grad_(data is not None and data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


_FOR_UNINITIALIZED = frozenset(
    (
        "__hash__",
        "bfloat16",
        "copy_",
        "cpu",
        "detach",
        "double",
        "float",
        "half",
        "is_complex",
        "is_floating_point",
        "requires_grad_",
        "size",
        "to",
        "type",
    )
)


class _Uninitialized:
    """A tensor without a shape, until materialize() gives it one: of lazy modules."""

    _becomes = None

    def materialize(self, shape, device=None, dtype=None):
        """Gives the tensor a shape and memory, without values; it is an ordinary one from then on."""
        from shunt import empty

        data = self.data
        self.data = empty(
            tuple(shape), device=data.device if device is None else device, dtype=data.dtype if dtype is None else dtype
        )
        self.__class__ = self._becomes

    @property
    def shape(self):
        raise RuntimeError(
            f"{type(self).__name__}: an uninitialized parameter has no shape; forward() with a batch gives it one, and "
            "does so before load_state_dict() fills it"
        )

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.device, self.data.dtype, self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return type(self), (self.data.device, self.data.dtype, self.requires_grad)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        # Attributes, and what moves and casts modules.
        if type(func).__name__ == "method-wrapper" or getattr(func, "__name__", None) in _FOR_UNINITIALIZED:
            return _C._disabled_torch_function_impl(func, types, args, kwargs or {})
        raise ValueError(
            f"{func}: expected parameters with values, got an uninitialized one; call the lazy module with a batch "
            "first"
        )


class UninitializedParameter(_Uninitialized, Parameter):
    """A Parameter whose shape isn't known yet. ValueError where it is computed with."""

    __module__ = "shunt.nn.parameter"
    _becomes = Parameter

    def __new__(cls, device=None, dtype=None, requires_grad=True):
        from shunt import empty

        return Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(_Uninitialized, Tensor):
    """A buffer whose shape isn't known yet. ValueError where it is computed with."""

    __module__ = "shunt.nn.parameter"
    _becomes = Tensor

    def __new__(cls, device=None, dtype=None, requires_grad=False):
        from shunt import empty

        return Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)
