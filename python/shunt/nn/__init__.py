"""Networks: shunt.nn.functional."""

from shunt.nn import functional
