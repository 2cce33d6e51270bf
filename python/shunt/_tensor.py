"""shunt.Tensor: what TensorBase, of C++, has not."""

import functools

from shunt import _C

TYPE_CHECKING = False  # true for those who read types; importing typing takes a millisecond


class Tensor(_C.TensorBase):
    """A multi-dimensional array of numbers of one dtype, on one device.

    Made by factories (shunt.tensor, shunt.zeros, ...) and by operators, which are its methods, too.
    """

    __module__ = "shunt"
    __slots__ = ()

    if TYPE_CHECKING:
        from typing import Any

        def to(self, *args: Any, **kwargs: Any) -> "Tensor": ...

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
            raise TypeError("Tensor.__iter__(): expected 1 dimension or more, got 0")
        return iter(self.unbind(0))

    def __reversed__(self):
        return self if self.dim() == 0 else self.flip(0)

    def __contains__(self, element):
        if not isinstance(element, (_C.TensorBase, int, float, complex)):
            raise RuntimeError(f"Tensor.__contains__(): expected a Tensor or a number, got {type(element).__name__}")
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
        for t in types:
            if not issubclass(cls, t):
                return NotImplemented
        if cls is Tensor and _C._get_torch_function_state() != 0:
            return NotImplemented  # another package's function, which asks again instead of computing
        result = _C._disabled_torch_function_impl(func, types, args, kwargs)
        if cls is Tensor or type(result) is _C.Size or _keeps_class(func):
            return result
        return _as_class(result, cls)

    def __repr__(self, *, tensor_contents=None):
        from shunt._printing import tensor_text
        return tensor_text(self)

    def __format__(self, format_spec):
        # A number's format for one number; subclasses print as they do.
        if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
            return self.item().__format__(format_spec)
        return object.__format__(self, format_spec)

    # NumPy. Its functions give way to a tensor's, and what they make of tensors is one.
    __array_priority__ = 1000

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError("Unable to avoid copy while creating an array as requested.")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(self, array, context=None, return_scalar=False):
        # What a function of NumPy's made of tensors.
        import numpy
        shares = isinstance(array, numpy.ndarray) and array.flags.writeable
        return _C.from_numpy(array) if shares else _C.tensor(array)

    def __dlpack__(self, *, stream=-1, max_version=None, dl_device=None, copy=None):
        """A capsule with the tensor's memory, for from_dlpack() of another library.

        Args:
            stream: None or -1.
            max_version: the newest version of DLPack that the consumer knows, (1, 0); None for those before 1.
            dl_device: (1, 0), the CPU, or None.
            copy: whether the memory is a copy's.

        BufferError where the tensor requires grad, or is on another device.
        """
        from shunt._dlpack import export
        return export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        """DLPack's numbers of the device: (1, 0), the CPU."""
        from shunt._dlpack import device_of
        return device_of(self)

    def __array_namespace__(self, *, api_version=None):
        """The module shunt.array_api, which has the functions of the Python array API standard. ValueError for a
        version of it that is newer than 2024.12."""
        from shunt import array_api
        if api_version is not None and api_version > array_api.__array_api_version__:
            raise ValueError(f"__array_namespace__(): the newest version is {array_api.__array_api_version__}, not "
                             f"{api_version}")
        return array_api

    def __complex__(self):
        return complex(self.item())

    def to_device(self, device, /, *, stream=None):
        """The tensor on a device, the array API standard's name of to(device). ValueError where `stream` is given."""
        if stream is not None:
            raise ValueError(f"to_device(): there are no streams, got stream={stream!r}")
        return self.to(device)

    # pickle and copy.
    def __reduce_ex__(self, protocol):
        from shunt._reduction import reduce_tensor
        return reduce_tensor(self)

    def __deepcopy__(self, memo):
        from shunt._reduction import deepcopy_tensor
        return deepcopy_tensor(self, memo)

    def type(self, dtype=None, non_blocking=False):
        """The name of the dtype, "shunt.FloatTensor"; with `dtype` (a dtype, or such a name), the values in it."""
        from shunt._legacy import to_type
        return to_type(self, dtype, non_blocking)

    def new(self, *args, device=None):
        """Tensor(...) with this tensor's dtype and device."""
        from shunt._legacy import new_like
        return new_like(self, args, device)

    def get_device(self):
        """The number of its CUDA device; -1 for the CPU."""
        return -1 if self.device.index is None else self.device.index

    def is_shared(self):
        """Whether the memory is shared with other processes."""
        import sys
        shared = sys.modules.get("shunt.multiprocessing._shared")
        return shared is not None and shared.region_of(self) is not None

    def share_memory_(self):
        """Moves the elements to memory that is shared with processes that are forked, or that get the tensor as an
        argument or through a queue. Other tensors over the memory where they were stay there."""
        from shunt.multiprocessing._shared import share
        return share(self)

    def pin_memory(self, device=None):
        """Refused: no memory is page-locked."""
        from shunt.accelerator import NONE
        raise RuntimeError(NONE)


_C._set_tensor_class(Tensor)


def _offered(method):
    # Methods written in Python ask __torch_function__ as those of C++ do.
    @functools.wraps(method)
    def offered(self, *args, **kwargs):
        if _C._has_torch_function_unary(self):
            return _C._handle_torch_function(offered, (self,), (self, *args), kwargs)
        return method(self, *args, **kwargs)

    return offered


for _name in ("__contains__", "__deepcopy__", "__format__", "__repr__", "__reversed__", "backward", "new", "type"):
    setattr(Tensor, _name, _offered(Tensor.__dict__[_name]))


_keeping = ()  # functions whose results stay plain tensors


def _keeps_class(func):
    if getattr(func, "__name__", None) != "__get__":
        return False
    global _keeping
    if not _keeping:
        from shunt.overrides import get_default_nowrap_functions
        _keeping = get_default_nowrap_functions()
    return func in _keeping


def _as_class(result, cls):
    """The result of a function with its tensors as objects of a class derived from Tensor."""
    if isinstance(result, _C.TensorBase):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        parts = [_as_class(r, cls) for r in result]
        return type(result)(*parts) if hasattr(type(result), "_fields") else type(result)(parts)
    return result
