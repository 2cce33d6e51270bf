"""What the walker (python/common/walk) has to know of PyTorch, and of this package."""

from __future__ import annotations

import os
import sys
from typing import Any

import torch

from .replaced import NAMES as REPLACED  # noqa: F401  attributes that guards leave alone

NAME, PREFIX = "PyTorch", "torch"  # for messages
Tensor = torch.Tensor
TENSOR_CLASSES = (torch.Tensor, torch.nn.Parameter)  # a walk looks at these by themselves; the last has all attributes
Generator = torch.Generator

# Objects of these count by value.
VALUE_TYPES = (torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size)
# Of these by identity, with nothing to walk. A GraphModule runs the code made from its Graph.
IMMUTABLE = (torch.finfo, torch.iinfo, torch.jit.ScriptFunction, torch.fx.Graph)
REFUSED_BASES = ((torch.jit.ScriptModule, "a scripted module keeps its state out of Python; capture the original "
                                          "module"),)
GIVE_AWAY: frozenset = frozenset()  # methods of tensors made in C that a call may not use: see kept_values.py

FOLDERS = tuple(os.path.dirname(os.path.abspath(p)) + os.sep for p in (torch.__file__, __file__))
PACKAGES = frozenset({"torch", "functorch", "shunt_torch"})
# Installed packages that PyTorch's own code calls: like the standard library's, their code is whose who called it.
DEPENDENCIES = frozenset(
    {"typing_extensions", "sympy", "mpmath", "networkx", "jinja2", "filelock", "fsspec", "numpy", "optree", "packaging"}
)
# Functions that do what no operator shows, by file and name: what they are called. Files, and the seeds and states of
# the generator.
EFFECTS = {
    (file, name): name
    for file, names in (("serialization.py", ("save", "load")),
                        ("random.py", ("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state")))
    for name in names
}
WARN: tuple = ()  # what PyTorch's own code calls to warn; a call may


def settings_in_c() -> list:
    """None: library_state.py compares PyTorch's settings."""
    return []


def settings() -> list:
    """None, as above."""
    return []


def refused_settings() -> list:
    """None, as above."""
    return []


def whole() -> tuple:
    """Classes whose instances are walked whole."""
    return torch.nn.Module, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler


def is_module(value: Any) -> bool:
    return isinstance(value, torch.nn.Module)


def modules() -> tuple:
    """The modules in which users replace functions that PyTorch's own code names."""
    return torch, torch.nn.functional


def is_compiled(kind: type) -> bool:
    """Whether objects of this class stand for a function that they record."""
    return kind.__module__ == "shunt_torch.capture"


def function_of(compiled: Any) -> Any:
    return compiled._function


def is_operator(kind: type) -> bool:
    return kind.__module__ == "torch._ops"


def global_hooks() -> list[tuple[str, dict]]:
    """The dicts of hooks that every module or optimiser calls."""
    found = []
    for name in ("torch.nn.modules.module", "torch.optim.optimizer"):
        for key, value in vars(sys.modules[name]).items():
            if key.startswith("_global_") and isinstance(value, dict) and "registration" not in key:
                found.append((f"{name}.{key}", value))
    return found
