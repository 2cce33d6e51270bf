"""Gradients: the engine, settings of recording, functions with a gradient of their own, and checks of gradients."""

from shunt.autograd import function
from shunt.autograd._engine import backward, grad
from shunt.autograd._grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from shunt.autograd.function import Function, NestedIOFunction
from shunt.autograd.gradcheck import gradcheck, gradgradcheck

__all__ = ["Function", "NestedIOFunction", "Variable", "backward", "detect_anomaly", "enable_grad", "function", "functional",
           "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad", "set_detect_anomaly",
           "set_grad_enabled"]

# What few programs need, and takes as long to import as the rest: modules, and names with their modules.
_MODULES = frozenset(("anomaly_mode", "functional", "graph", "profiler", "variable"))
_NAMES = {"detect_anomaly": "anomaly_mode", "set_detect_anomaly": "anomaly_mode", "Variable": "variable"}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shunt.autograd import functional, graph
    from shunt.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
else:
    def __getattr__(name):
        import importlib
        if name in _MODULES:
            return importlib.import_module(f"shunt.autograd.{name}")
        if name in _NAMES:
            value = globals()[name] = getattr(importlib.import_module(f"shunt.autograd.{_NAMES[name]}"), name)
            return value
        import sys
        from shunt._near_names import no_name
        raise no_name("shunt.autograd", name, [*globals(), *_MODULES, *_NAMES], sys._getframe(1), __file__)


def __dir__():
    return [*globals(), *_MODULES, *_NAMES]
