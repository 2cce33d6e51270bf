"""Helpers that programs of PyTorch's import from torch.utils."""

from shunt.utils import _pytree as _pytree

# What programs take as torch.utils.data without an import of its own.
_MODULES = ("benchmark", "checkpoint", "data", "dlpack", "flop_counter", "hooks", "weak")


def __getattr__(name):
    if name in _MODULES:
        import importlib
        return importlib.import_module(f"shunt.utils.{name}")
    import sys
    from shunt._near_names import no_name
    raise no_name("shunt.utils", name, [*globals(), *_MODULES], sys._getframe(1), __file__)
