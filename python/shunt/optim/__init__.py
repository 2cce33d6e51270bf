"""Optimisers: what changes parameters by their gradients."""

from shunt.optim import lr_scheduler, swa_utils
from shunt.optim._more_rules import ASGD, Adafactor, Adamax, NAdam, RAdam, Rprop
from shunt.optim._rules import SGD, Adadelta, Adagrad, Adam, AdamW, RMSprop
from shunt.optim.lbfgs import LBFGS
from shunt.optim.optimizer import Optimizer

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "lr_scheduler",
    "swa_utils",
]


def __getattr__(name):
    import sys

    from shunt._near_names import no_name
    raise no_name(__name__, name, globals(), sys._getframe(1), __file__)
