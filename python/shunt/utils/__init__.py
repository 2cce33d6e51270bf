"""Helpers that programs of PyTorch's import from torch.utils."""

from shunt.utils import _pytree as _pytree
