"""The older weight_norm and spectral_norm, which compute a weight in a hook before each forward."""


from shunt import _C
from shunt.autograd import no_grad
from shunt.nn.parameter import Parameter
from shunt.nn.utils.parametrizations import PowerIteration, check_iterations, default_dim, norm_except_dim


def _hooks(module):
    return {} if module._hooks is None else module._hooks.forward_pre


def _remove(module, kind, name):
    for key, hook in list(_hooks(module).items()):
        if isinstance(hook.function, kind) and hook.function.name == name:
            del _hooks(module)[key]
            return hook.function
    raise ValueError(f"remove_{kind.function}(): {type(module).__name__} has no {kind.function} of {name!r}")


def _check_new(module, kind, name):
    for hook in _hooks(module).values():
        if isinstance(hook.function, kind) and hook.function.name == name:
            raise RuntimeError(f"{kind.function}(): {type(module).__name__} has one of {name!r} already")


class _WeightNorm:
    function = "weight_norm"

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute(self, module):
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / norm_except_dim(v, self.dim))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute(module))


def weight_norm(module, name="weight", dim=0):
    """Splits a weight in its length along dim and its direction, parameters `weight_g` and `weight_v`; returns the
    module.

    nn.utils.parametrizations.weight_norm has taken its place.
    """
    _C._warn(
        "nn.utils.weight_norm() is deprecated; call nn.utils.parametrizations.weight_norm()",
        FutureWarning,
    )
    _check_new(module, _WeightNorm, name)
    hook = _WeightNorm(name, dim)
    weight = getattr(module, name)
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(norm_except_dim(weight.detach(), hook.dim)))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module, name="weight"):
    """Makes the weight a parameter again. ValueError where it has no weight_norm."""
    hook = _remove(module, _WeightNorm, name)
    weight = hook.compute(module).detach()
    delattr(module, name)
    del module._parameters[name + "_g"], module._parameters[name + "_v"]
    module.register_parameter(name, Parameter(weight))
    return module


class _SpectralNorm:
    function = "spectral_norm"

    def __init__(self, name, n_power_iterations, dim, eps):
        self.name, self.times, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute(self, module, training):
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = PowerIteration.matrix_of(weight, self.dim)
        if training:
            with no_grad():
                matrix_now = matrix.detach()
                for _ in range(self.times):
                    v.copy_(_unit(matrix_now.t() @ u, self.eps))
                    u.copy_(_unit(matrix_now @ v, self.eps))
        return weight / (u.clone() * (matrix @ v.clone())).sum()

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute(module, module.training))


def _unit(x, eps):
    from shunt.nn import functional as F

    return F.normalize(x, dim=0, eps=eps)


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a weight by its largest singular value (Miyato and others 2018): the parameter is `weight_orig` then,
    with the
    buffers `weight_u` and `weight_v`; returns the module. nn.utils.parametrizations.spectral_norm has taken its
    place."""
    check_iterations(n_power_iterations)
    _check_new(module, _SpectralNorm, name)
    hook = _SpectralNorm(name, n_power_iterations, default_dim(module, dim), eps)
    weight = module._parameters[name]
    with no_grad():
        u, v = PowerIteration.start(PowerIteration.matrix_of(weight.detach(), hook.dim), eps, weight.detach())
    del module._parameters[name]
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module, name="weight"):
    """Makes the weight, as it is now, a parameter again. ValueError where it has no spectral_norm."""
    hook = _remove(module, _SpectralNorm, name)
    with no_grad():
        weight = hook.compute(module, False)
    delattr(module, name)
    for part in ("_u", "_v", "_orig"):
        delattr(module, name + part)
    module.register_parameter(name, Parameter(weight.detach()))
    return module
