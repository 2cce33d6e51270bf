"""Networks: modules, their parameters, and the functions that they are made of."""

from shunt.nn.modules import *  # noqa: F403
from shunt.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

from shunt.nn import functional, init, modules, parameter, utils


def __getattr__(name):
    # What few programs need, and takes time to import.
    if name == "attention":
        import importlib
        return importlib.import_module("shunt.nn.attention")
    import sys
    from shunt._near_names import no_name
    raise no_name("shunt.nn", name, globals(), sys._getframe(1), __file__)
