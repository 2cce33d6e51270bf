"""Networks: modules, their parameters, and the functions that they are made of."""

from shunt.nn.modules import *  # noqa: F403
from shunt.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

from shunt.nn import functional, init, modules, parameter, utils
