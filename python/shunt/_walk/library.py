"""What the walker (python/common/walk) has to know of this package."""

import os
import sys
import warnings

import shunt
from shunt import _C

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
# Functions that do what no operator shows, by file and name: what they are called. Files, the seeds and states of the
# generator, and modes that the thread or the process is in.
EFFECTS = {
    ("serialization/__init__.py", "save"): "save",
    ("serialization/__init__.py", "load"): "load",
    **{("_random.py", name): name for name in ("manual_seed", "seed", "initial_seed", "get_rng_state",
                                               "set_rng_state")},
    ("autograd/anomaly_mode.py", "__init__"): "autograd.detect_anomaly",
    ("jit.py", "set_enabled"): "jit.set_enabled",
}
# What the library's own code calls to warn.
WARN = (warnings.warn, _C._warn)

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


def settings_in_c() -> list:
    """Functions made in C that say how a setting is: what they are of, and the function."""
    return [
        ("the number of threads", _C.get_num_threads),
        ("anomaly mode", _C.is_anomaly_enabled),
        ("whether anomaly mode looks for NaNs", _C.is_anomaly_check_nan_enabled),
        ("whether autocast keeps casts", _C.is_autocast_cache_enabled),
        ("whether calls are compiled", _C._jit_enabled),
    ]


# By module: the attributes, of it or of a class in it, in which it keeps settings.
_SETTINGS = (
    ("shunt._settings", "", "_state"),
    ("shunt._printing", "", "_options"),
    ("shunt.amp.autocast_mode", "", "_set_dtypes"),
    ("shunt.nn.utils.parametrize", "", "_cache_depth"),
    ("shunt.distributions.distribution", "Distribution", "_validate_args"),
)


def settings() -> list:
    """(path, "item" or "type", dict or class, name) of what modules that are loaded keep settings in."""
    found = []
    for module, kind, name in _SETTINGS:
        if module in sys.modules:
            owner = vars(sys.modules[module])
            found.append((f"{module}.{kind}.{name}", "type", owner[kind], name) if kind else
                         (f"{module}.{name}", "item", owner, name))
    return found


def refused_settings() -> list:
    """(path, dict, name, reason) of settings with which nothing is recorded while they are true."""
    module = "shunt.nn.utils.parametrize"
    if module not in sys.modules:
        return []
    return [(f"{module}.cached", vars(sys.modules[module]), "_cache_depth",
             "keeps tensors for the block, which a replay would neither read nor write; call the function outside")]
