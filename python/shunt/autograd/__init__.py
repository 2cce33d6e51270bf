"""Gradients: the engine, and settings of recording."""

from shunt.autograd._engine import backward, grad
from shunt.autograd._grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["backward", "enable_grad", "grad", "inference_mode", "no_grad", "set_grad_enabled"]
