"""Tensors and NumPy's arrays. NumPy is imported where a program asks for an array, and not before."""

from shunt import _C


def to_numpy(tensor, force):
    if force:
        tensor = tensor.detach().cpu()
    elif tensor.requires_grad and _C.is_grad_enabled():
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    elif not tensor.is_cpu:
        raise TypeError(f"can't convert {tensor.device} device type tensor to numpy. Use Tensor.cpu() to copy the "
                        "tensor to host memory first.")
    if tensor.dtype is _C.bfloat16:
        raise TypeError("Got unsupported ScalarType BFloat16")
    import numpy
    return numpy.asarray(memoryview(tensor))


def from_ufunc(array):
    """What a function of NumPy's made of tensors, as a tensor."""
    import numpy
    if isinstance(array, numpy.ndarray) and array.flags.writeable:
        return _C.from_numpy(array)
    return _C.tensor(array)
