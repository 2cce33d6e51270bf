"""functional_call() where older programs look for it."""

from shunt.func import functional_call as _functional_call

__all__ = ["functional_call"]


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """func.functional_call(), which is the same: module(*args, **kwargs) with these parameters and buffers."""
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
