"""Helpers that programs of PyTorch's import from torch.utils."""

from shunt.utils import _pytree as _pytree


def __getattr__(name):
    # What programs take as torch.utils.data without an import of its own.
    if name in ("benchmark", "checkpoint", "data", "dlpack", "flop_counter", "hooks", "weak"):
        import importlib
        return importlib.import_module(f"shunt.utils.{name}")
    raise AttributeError(f"module 'shunt.utils' has no attribute '{name}'")
