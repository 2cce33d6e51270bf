"""Factories that are written in terms of others."""

import sys

from shunt import _C
from shunt._dlpack import from_dlpack


def _is_numpy(obj, name):
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(obj, getattr(numpy, name, ()))


def _has_buffer(obj):
    try:
        memoryview(obj).release()
    except (TypeError, BufferError):
        return False
    return True


def _shared(obj, dtype):
    """A tensor over the object's memory, or None."""
    if isinstance(obj, _C.TensorBase):
        return obj
    if _is_numpy(obj, "ndarray"):
        return _C.from_numpy(obj)
    if _is_numpy(obj, "generic"):
        return None
    if hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        return from_dlpack(obj)
    if _has_buffer(obj):
        return _C.frombuffer(obj, dtype=_C.get_default_dtype() if dtype is None else dtype)
    return None


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """A tensor of what `obj` holds: a tensor, a NumPy array, an object with DLPack or a buffer, nested lists.

    Args:
        dtype, device: of the result; those of `obj`, or as tensor() chooses them, by default. A buffer's elements are
            of the default dtype.
        copy: True for a copy; False for ValueError where one would be needed; None for one only where it's needed.
        requires_grad: whether the result requires grad; that of `obj` by default.
    """
    tensor = _shared(obj, dtype)
    if tensor is None:
        if copy is False:
            raise ValueError(f"asarray(): copy=False expects memory to share, got {type(obj).__name__}")
        return _C.tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    result = tensor.to(device=device, dtype=dtype)
    if result is not tensor and copy is False:
        raise ValueError(
            f"asarray(): copy=False expects {result.dtype} on {result.device}, as is asked for, got {tensor.dtype} on "
            f"{tensor.device}"
        )
    if result is tensor and copy:
        result = result.clone()
    if requires_grad is None or requires_grad == result.requires_grad:
        return result
    return result.detach().requires_grad_(requires_grad)


def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """`steps` numbers from base**start to base**end, whose logarithms are evenly spaced.

    Args:
        start, end: numbers.
        steps: how many, an int.
        base: of the powers.
        out: a tensor to write to.
        dtype, layout, device, requires_grad: of the result.
    """
    from shunt import linspace
    wanted = out.dtype if out is not None else dtype or _C.get_default_dtype()
    result = (base ** linspace(start, end, steps, dtype=_C.float64, device=device)).to(wanted)
    if out is not None:
        return out.resize_(result.shape).copy_(result)
    return result.requires_grad_() if requires_grad else result


def is_tensor(obj):
    """Whether it is a Tensor."""
    return isinstance(obj, _C.TensorBase)


def is_storage(obj):
    """Whether it is a storage."""
    return isinstance(obj, _C.UntypedStorage)


def _checked(function, input):
    if not isinstance(input, _C.TensorBase):
        raise TypeError(f"{function}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return input


def numel(input):
    """The number of elements."""
    return _checked("numel", input).numel()


def is_floating_point(input):
    """Whether the dtype is a floating-point one."""
    return _checked("is_floating_point", input).is_floating_point()


def is_complex(input):
    """Whether the dtype is a complex one."""
    return _checked("is_complex", input).is_complex()


def is_signed(input):
    """Whether the dtype has numbers below 0."""
    return _checked("is_signed", input).is_signed()


def is_inference(input):
    """Whether the tensor was made in inference mode."""
    return _checked("is_inference", input).is_inference()


def is_same_size(input, other):
    """Whether two tensors have the same sizes."""
    return _checked("is_same_size", input).is_same_size(other)


def is_nonzero(input):
    """Whether a tensor of one element isn't 0. RuntimeError for others."""
    return bool(_checked("is_nonzero", input))
