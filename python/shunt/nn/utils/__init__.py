"""What training does to gradients and parameters."""

import importlib

from shunt.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from shunt.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]


# Imported when they are asked for.
_MODULES = frozenset(("parametrizations", "parametrize", "rnn", "stateless"))
_OF_WEIGHTS = frozenset(("remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"))


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"shunt.nn.utils.{name}")
    if name in _OF_WEIGHTS:
        return getattr(importlib.import_module("shunt.nn.utils._weights"), name)
    import sys
    from shunt._near_names import no_name
    raise no_name("shunt.nn.utils", name, [*globals(), *_MODULES, *_OF_WEIGHTS], sys._getframe(1), __file__)


def __dir__():
    return sorted({*globals(), *__all__})


def skip_init(module_cls, *args, **kwargs):
    """A module whose parameters have no initial values: those that it draws are left out.

    RuntimeError where the class has no argument `device`.
    """
    import inspect

    from shunt.nn.modules.module import Module

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"skip_init(): expected a class derived from Module, got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(f"skip_init(): expected a class whose __init__ takes device, got {module_cls.__name__}")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **{**kwargs, "device": "meta"}).to_empty(device=device)
