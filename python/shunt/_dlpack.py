"""DLPack: tensors of other libraries, and tensors for them, without copies."""

from shunt import _C

_CPU = 1  # DLPack's number of the device


_RECORDED = "expected a tensor that autograd doesn't record, got one with requires_grad=True; pass its detach()"


def export(tensor, stream, max_version, dl_device, copy):
    if stream is not None and type(stream) is not int:
        raise TypeError(f"__dlpack__(): expected stream to be an int or None, got {type(stream).__name__}")
    if stream not in (None, -1):
        raise AssertionError(f"__dlpack__(): expected stream to be None, as the CPU has none, got {stream}")
    if tensor.requires_grad:
        raise BufferError(_RECORDED)
    if dl_device is not None and tuple(dl_device) != (_CPU, 0):
        raise BufferError(f"__dlpack__(): Shunt exports memory of the CPU only, device (1, 0), not {tuple(dl_device)}")
    if copy:
        tensor = tensor.clone()
    return _C._to_dlpack(tensor, max_version is not None and max_version[0] >= 1, bool(copy))


def device_of(tensor):
    if not tensor.is_cpu:
        raise ValueError(f"__dlpack_device__(): expected a tensor on the CPU, got one on {tensor.device}")
    return _CPU, 0


def _capsule_of(producer, wanted):
    try:
        return producer(max_version=(1, 0), **wanted)
    except TypeError:
        # Older than versions, or than these arguments.
        if wanted.get("copy") is False:
            raise ValueError("from_dlpack(): copy=False, but the object can't say whether it copies") from None
        return producer()


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of another library's.

    Args:
        ext_tensor: an object with `__dlpack__`, of NumPy, PyTorch, JAX, ..., or a capsule, which can be used once.
        device: where the result is to be: None, or the CPU.
        copy: True for a copy; False for an error where one would be needed.

    BufferError where the other library can't export it; RuntimeError for a capsule that was used already, and for
    dtypes and strides that tensors don't have.
    """
    if device is not None and _C.device(device).type != "cpu":
        raise ValueError(f"from_dlpack(): tensors of other libraries come to the CPU, not to {device}")
    if getattr(ext_tensor, "requires_grad", False):
        raise BufferError(_RECORDED)
    if copy is None and device is None:
        tensor = _C._from_dlpack_object(ext_tensor)
        if tensor is not None:
            return tensor
    producer = getattr(ext_tensor, "__dlpack__", None)
    if producer is None:
        return _C._from_dlpack_capsule(ext_tensor)
    wanted = {} if copy is None else {"copy": copy}
    if device is not None:
        wanted["dl_device"] = (_CPU, 0)
    tensor = _C._from_dlpack_capsule(_capsule_of(producer, wanted))
    return tensor.clone() if copy and "copy" not in wanted else tensor


def to_dlpack(tensor):
    """A capsule with the tensor's memory, which one consumer can take."""
    return tensor.__dlpack__()


def from_torch(tensor):
    """A tensor over the memory of PyTorch's tensor, on the CPU. BufferError where that requires grad."""
    return from_dlpack(tensor)


def to_torch(tensor):
    """PyTorch's tensor over this one's memory. BufferError where it requires grad."""
    import torch
    result = _C._to_dlpack_class(tensor, torch.Tensor)
    return torch.from_dlpack(tensor) if result is None else result
