"""Tensors in memory that processes share: a file without a name, mapped by each of them."""

import mmap
import os
import weakref
from multiprocessing.reduction import DupFd, ForkingPickler

from shunt import _C
from shunt._tensor import Tensor
from shunt.autograd import no_grad
from shunt.nn.parameter import Parameter


class _Region(mmap.mmap):
    """The mapped memory, with the file's descriptor, which is closed with it."""


# By address. The storage over a region keeps it.
_regions = weakref.WeakValueDictionary()


def _mapped(fd, size):
    """All bytes of the file as a storage."""
    from shunt import frombuffer, uint8

    region = _Region(fd, size)
    region.fd = fd
    weakref.finalize(region, os.close, fd)
    storage = frombuffer(region, dtype=uint8).untyped_storage()
    _regions[storage.data_ptr()] = region
    return storage


def region_of(tensor):
    """The shared memory that a tensor is in, or None."""
    return _regions.get(tensor.untyped_storage().data_ptr()) if tensor.is_cpu else None


def share(tensor):
    """Moves a tensor's elements to shared memory."""
    if not tensor.is_cpu:
        raise RuntimeError(f"share_memory_(): expected a tensor on the CPU, got one on {tensor.device}")
    old = tensor.untyped_storage()
    if region_of(tensor) is not None or old.nbytes() == 0:
        return tensor
    fd = os.memfd_create("shunt")
    os.ftruncate(fd, old.nbytes())
    storage = _mapped(fd, old.nbytes())
    with no_grad():
        shared = _C._tensor_over_storage(
            storage, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype
        )
        _C._tensor_over_storage(storage, 0, (old.nbytes(),), (1,), _C.uint8).copy_(
            _C._tensor_over_storage(old, 0, (old.nbytes(),), (1,), _C.uint8)
        )
        tensor.data = shared
    return tensor


def _rebuild(duplicate, size, offset, shape, stride, dtype, cls, requires_grad):
    tensor = _C._tensor_over_storage(_mapped(duplicate.detach(), size), offset, shape, stride, dtype)
    if cls is Parameter:
        return Parameter(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)


def _reduce(tensor):
    region = region_of(tensor) if not tensor.is_meta else None
    if region is None:
        return tensor.__reduce_ex__(2)
    return _rebuild, (
        DupFd(region.fd),
        len(region),
        tensor.storage_offset(),
        tuple(tensor.shape),
        tensor.stride(),
        tensor.dtype,
        type(tensor),
        tensor.requires_grad,
    )


# Of pickles that go to processes; others have copies.
ForkingPickler.register(Tensor, _reduce)
ForkingPickler.register(Parameter, _reduce)
