"""Functions that transform functions, with torch.func's names: derivatives, and batches of samples.

    per_sample = shunt.func.vmap(shunt.func.grad(loss), in_dims=(None, 0, 0))(params, xs, ys)

They take and return nested containers of tensors (shunt.utils._pytree) and nest in any order. What a function gets are
tensors that are good until it returns.
"""

from shunt._functionalize import functionalize
from shunt.func._grad import grad, grad_and_value, vjp
from shunt.func._jacobian import hessian, jacfwd, jacrev, jvp, linearize
from shunt.func._modules import functional_call, stack_module_state
from shunt.func._vmap import vmap

__all__ = [
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "stack_module_state", "vjp", "vmap",
]


def __getattr__(name):
    import sys

    from shunt._near_names import no_name
    raise no_name(__name__, name, globals(), sys._getframe(1), __file__)
