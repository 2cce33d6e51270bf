"""shunt.Tensor: what TensorBase, of C++, has not."""

from shunt import _C


class Tensor(_C.TensorBase):
    """A multi-dimensional array of numbers of one dtype, on one device.

    Made by factories (shunt.tensor, shunt.zeros, ...) and by operators, which are its methods, too.
    """

    __module__ = "shunt"
    __slots__ = ()

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Adds the gradient of this tensor to `grad` of the leaves that it was computed from.

        Args:
            gradient: of this tensor, of its shape; may be left out where it has one element (1 then).
            retain_graph: whether the graph may be used again; create_graph by default.
            create_graph: whether the gradients can be differentiated in turn.
            inputs: tensors whose grad is to be changed; all leaves by default.
        """
        from shunt import autograd
        autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def __iter__(self):
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element):
        return bool((self == element).any())

    # Classes derived from Tensor override these two: see shunt.overrides and shunt.utils._python_dispatch.
    __torch_dispatch__ = _C._disabled_torch_dispatch_impl
    _make_subclass = _C._make_subclass
    _make_wrapper_subclass = _C._make_wrapper_subclass

    def as_subclass(self, cls):
        """The same elements as an object of a class derived from Tensor. Gradients go through it."""
        return _C._as_subclass(self, cls)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """Calls func(*args, **kwargs) as for plain tensors, and makes what it returns of this class."""
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        before = _C._set_torch_function_state(max(1, _C._get_torch_function_state()))
        try:
            result = func(*args, **(kwargs or {}))
        finally:
            _C._set_torch_function_state(before)
        if cls is Tensor or getattr(func, "__name__", "") == "__get__" and func in _keeps_class():
            return result
        return _as_class(result, cls)


_C._set_tensor_class(Tensor)


def _keeps_class():
    from shunt.overrides import get_default_nowrap_functions
    return get_default_nowrap_functions()


def _as_class(result, cls):
    """The result of a function with its tensors as objects of a class derived from Tensor."""
    if isinstance(result, _C.TensorBase):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        parts = [_as_class(r, cls) for r in result]
        if hasattr(type(result), "_fields"):
            return type(result)(*parts)
        return type(result)(parts)
    return result


def _new_tensor(cls, *args, **kwargs):
    raise NotImplementedError
