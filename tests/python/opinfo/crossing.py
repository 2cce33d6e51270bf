"""Values of PyTorch as Shunt's, and back. Storages are copied whole, so that tensors which share one still do."""

import ctypes

import torch
from torch.utils._pytree import tree_map

import shunt

_DTYPES = [
    name
    for name in (
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex32",
        "complex64",
        "complex128",
    )
    if hasattr(shunt, name)
]
TO_SHUNT = {getattr(torch, name): getattr(shunt, name) for name in _DTYPES}
TO_TORCH = {ours: theirs for theirs, ours in TO_SHUNT.items()}
_CONSTANTS = {
    getattr(torch, name): getattr(shunt, name)
    for name in ("strided", "sparse_coo", "contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
    if hasattr(shunt, name)
}


class CannotCross(Exception):
    """A value that Shunt has no counterpart of: a sparse tensor, a complex one."""


def to_shunt(tree):
    """An equal tree of Shunt's values, with tensors in new memory that require grad where PyTorch's do."""
    storages, tensors = {}, {}

    def crossed(x):
        if isinstance(x, torch.Tensor):
            if id(x) not in tensors:
                tensors[id(x)] = _tensor_to_shunt(x, storages)
            return tensors[id(x)]
        if isinstance(x, torch.dtype):
            if x not in TO_SHUNT:
                raise CannotCross(str(x))
            return TO_SHUNT[x]
        if isinstance(x, torch.device):
            return shunt.device(str(x))
        if isinstance(x, torch.Generator):
            return shunt.Generator().manual_seed(x.initial_seed())
        if isinstance(x, slice):
            return slice(*map(crossed, (x.start, x.stop, x.step)))
        if callable(x) and not isinstance(x, type):
            raise CannotCross("a function")
        return _CONSTANTS.get(x, x) if isinstance(x, torch.layout | torch.memory_format) else x

    return tree_map(crossed, tree)


def _tensor_to_shunt(x, storages):
    if x.layout is not torch.strided or x.dtype not in TO_SHUNT or x.is_complex() or x.is_neg():
        raise CannotCross(f"{x.layout} of {x.dtype}")
    storage = x.untyped_storage()
    key = (storage._cdata, x.dtype)
    if x.is_meta or storage.device.type != "cpu":
        raise CannotCross("elements that are elsewhere")
    if key not in storages:
        flat = shunt.empty((storage.nbytes() // x.element_size(),), dtype=TO_SHUNT[x.dtype])
        if flat.nbytes:
            ctypes.memmove(flat.data_ptr(), storage.data_ptr(), flat.nbytes)
        storages[key] = flat
    flat = storages[key]
    # A view of what it shares would be no leaf of its own; detached it is one.
    out = flat.as_strided(tuple(x.shape), x.stride(), x.storage_offset()).detach()
    return out.requires_grad_(True) if x.requires_grad else out


def to_torch(x):
    """A tensor of PyTorch with the elements, sizes and strides of Shunt's."""
    out = torch.empty_strided(tuple(x.shape), x.stride(), dtype=TO_TORCH[x.dtype])
    if out.numel():
        size = out.untyped_storage().nbytes()
        ctypes.memmove(out.data_ptr(), x.data_ptr(), size)
    return out
