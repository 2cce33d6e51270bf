"""Which of PyTorch's entries Shunt has, and what an entry's operator is here: the function or method of the same name,
or, where the
table says what to call by a few lines of Python, the same lines over Shunt."""

import functools
import types

import torch

import shunt

from operator_samples import ENTRIES

_TABLES = "torch.testing._internal."


def _seeded(op, *args, **kwargs):
    shunt.manual_seed(42)
    return op(*args, **kwargs)


class _Namespace:
    """What `torch` is to the table's lines: the package, whose missing names are recognised. `special` and `linalg`
    may be missing."""

    def __init__(self, target):
        self._target = target

    def __getattr__(self, name):
        found = getattr(self._target, name)
        return _Namespace(found) if isinstance(found, types.ModuleType) else found


def _resolve(path):
    """The object of the package at this path; None where there is none."""
    found = shunt
    for part in path.removeprefix("torch.").split("."):
        found = getattr(found, part, None)
        if found is None:
            return None
    return found


def _rebound(function):
    """The function over Shunt instead of PyTorch."""
    scope = dict(function.__globals__, torch=_Namespace(shunt), wrapper_set_seed=_seeded)
    return types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)


def _is_of_table(op):
    return isinstance(op.op, types.FunctionType) and op.op.__module__.startswith(_TABLES)


def function_of(op):
    """Shunt's operator for an entry; None where it has none of the name."""
    name = op.name
    if name.startswith(("jiterator", "torch.ops")):
        return None
    if isinstance(op.op, torch._ops.OpOverload):
        return getattr(shunt._C._functions, name, None)
    found = _resolve(name)
    if found is None or not callable(found):  # a dtype: float, bool
        found = getattr(shunt.Tensor, name, None)
    if found is None and _is_of_table(op):
        found = getattr(shunt.Tensor, name + "_", None)
    if found is None:
        return None
    return _rebound(op.op) if _is_of_table(op) else found


def method_of(op):
    """Shunt's method for an entry whose operator is a method of PyTorch, too."""
    return getattr(shunt.Tensor, op.name, None) if op.method_variant is not None else None


def inplace_of(op):
    """Shunt's in-place method; None where PyTorch has none."""
    variant = op.inplace_variant
    if variant is None:
        return None
    if isinstance(variant, functools.partial):  # f with inplace=True
        found = _resolve(f"nn.functional.{variant.func.__name__}")
        return functools.partial(found, **variant.keywords) if found is not None else None
    if isinstance(variant, types.FunctionType) and variant.__module__.startswith(_TABLES):
        return _rebound(variant)
    return getattr(shunt.Tensor, variant.__name__, None)


SERVED = {name: op for name, op in ENTRIES.items() if function_of(op) is not None}
