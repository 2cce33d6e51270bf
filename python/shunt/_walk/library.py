"""What the walker (python/common/walk) has to know of this package."""

import os
import sys

import shunt

NAME, PREFIX = "Shunt", "shunt"  # for messages
Tensor = shunt.Tensor
Generator = shunt.Generator

# Objects of these count by value.
VALUE_TYPES = (shunt.dtype, shunt.device, shunt.layout, shunt.memory_format, shunt.Size)
# Of these by identity, with nothing to walk.
IMMUTABLE = tuple(kind for kind in (getattr(shunt, name, None) for name in ("finfo", "iinfo"))
                  if isinstance(kind, type))
REFUSED_BASES = ()
REPLACED = frozenset()  # attributes that guards leave alone
# Methods of tensors made in C that give away what a recording can't follow.
GIVE_AWAY = frozenset(
    {"numpy", "tolist", "data_ptr", "untyped_storage", "__array__", "__dlpack__", "__reduce__", "__reduce_ex__",
     "register_hook",
     "register_post_accumulate_grad_hook"}
)

FOLDERS = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,)
PACKAGES = frozenset({"shunt"})
# Installed packages that the library's own code calls: like the standard library's, their code is whose who called it.
DEPENDENCIES = frozenset({"numpy"})
# Functions that do what no operator shows: files, and the seeds and states of the generator.
EFFECTS = frozenset(
    {("serialization.py", "save"), ("serialization.py", "load"), ("_serialization.py", "save"),
     ("_serialization.py", "load"),
     ("_random.py", "manual_seed"), ("_random.py", "seed"), ("_random.py", "initial_seed"),
     ("_random.py", "get_rng_state"),
     ("_random.py", "set_rng_state")}
)

TENSOR_CLASSES = (shunt.Tensor,)  # a walk looks at these by themselves; the last has all attributes


def _from(module: str, *names: str) -> tuple:
    """Classes of a module, where that is loaded."""
    found = (getattr(sys.modules.get(module), name, None) for name in names)
    return tuple(kind for kind in found if isinstance(kind, type))


def whole() -> tuple:
    """Classes whose instances are walked whole."""
    return (*_from("shunt.nn", "Module"), *_from("shunt.optim", "Optimizer"),
            *_from("shunt.optim.lr_scheduler", "LRScheduler"))


def is_module(value) -> bool:
    return isinstance(value, _from("shunt.nn", "Module"))


def modules() -> tuple:
    """The modules in which users replace functions that the library's own code names."""
    return tuple(m for m in (shunt, sys.modules.get("shunt.nn.functional")) if m is not None)


def is_compiled(kind: type) -> bool:
    """Whether objects of this class stand for a function that they record."""
    return kind.__module__ == "shunt.compiler" and kind.__name__ == "Compiled"


def function_of(compiled):
    return compiled._function


def is_operator(kind: type) -> bool:
    return kind.__module__ in ("shunt._ops", "shunt._C")


def global_hooks() -> list:
    """The dicts of hooks that every module or optimiser calls."""
    found = []
    for name in ("shunt.nn.modules.module", "shunt.optim.optimizer"):
        for key, value in vars(sys.modules[name]).items() if name in sys.modules else ():
            if key.startswith("_global_") and isinstance(value, dict) and "registration" not in key:
                found.append((f"{name}.{key}", value))
    return found
