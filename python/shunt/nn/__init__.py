"""Networks: modules, their parameters, and the functions that they are made of."""

from shunt.nn.modules import *  # noqa: F403
from shunt.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

from shunt.nn import functional, init, modules, parameter, utils


def __getattr__(name):
    # What few programs need, and takes time to import.
    if name == "attention":
        import importlib
        return importlib.import_module("shunt.nn.attention")
    from shunt._near_names import no_attribute
    raise no_attribute("module 'shunt.nn'", name, globals())
