"""What all judges by PyTorch's tables share, without shunt_torch: whether all samples are judged, and equal copies of inputs."""

import os

import torch
from torch.utils._pytree import tree_leaves, tree_map

ALL = os.environ.get("SHUNT_TEST_LONG") == "1"  # all samples, not only those that were drawn
# torch.manual_seed() looks for other devices, too, which takes 6 ms.
set_seed = torch.default_generator.manual_seed


def tensors_of(tree):
    return [x for x in tree_leaves(tree) if isinstance(x, torch.Tensor)]


def copy_of(tree):
    """Equal inputs in memory of their own. What shares a storage in one shares its copy in the other."""
    storages, tensors = {}, {}

    def copied(x):
        if not isinstance(x, torch.Tensor):
            return x
        if id(x) not in tensors:
            tensors[id(x)] = _copy_of_tensor(x, storages)
        return tensors[id(x)]

    return tree_map(copied, tree)


def _copy_of_tensor(x, storages):
    if x.layout is not torch.strided:
        return x.detach().clone().requires_grad_(x.requires_grad)
    storage = x.untyped_storage()
    if storage._cdata not in storages:
        storages[storage._cdata] = storage.clone()
    out = torch.empty(0, dtype=x.dtype, device=x.device).set_(storages[storage._cdata], x.storage_offset(), x.shape, x.stride())
    if x.is_neg():
        out = out._neg_view()
    if x.is_conj():
        out = out.conj()
    return out.detach().requires_grad_(x.requires_grad)
