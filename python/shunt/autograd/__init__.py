"""Gradients: the engine, settings of recording, functions with a gradient of their own, and checks of gradients."""

from shunt.autograd import function, functional, graph
from shunt.autograd._engine import backward, grad
from shunt.autograd._grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from shunt.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from shunt.autograd.function import Function, NestedIOFunction
from shunt.autograd.gradcheck import gradcheck, gradgradcheck

__all__ = ["Function", "NestedIOFunction", "backward", "detect_anomaly", "enable_grad", "function", "functional",
           "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad", "set_detect_anomaly",
           "set_grad_enabled"]
