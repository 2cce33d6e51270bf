"""Helpers that programs of PyTorch's import from torch.utils."""
