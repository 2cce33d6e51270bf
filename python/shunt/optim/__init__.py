"""Optimisers: what changes parameters by their gradients."""

from shunt.optim import lr_scheduler
from shunt.optim._rules import SGD, Adadelta, Adagrad, Adam, AdamW, RMSprop
from shunt.optim.optimizer import Optimizer

__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
