"""The optimisers' rules. Each is PyTorch's formula, operator by operator, so trajectories agree."""

import math

from shunt import _operators as ops
from shunt._tensor import Tensor
from shunt.optim.optimizer import Optimizer, check_settings


def _with_decay(p, grad, group):
    grad = -grad if group.get("maximize") else grad
    return grad.add(p, alpha=group["weight_decay"]) if group["weight_decay"] != 0 else grad


def _zeros(p):
    return ops.zeros_like(p)


def _next_step(state, capturable=False):
    """Counts the step: in a tensor where `capturable` says so, which graphs of compiled functions count, too. A state that
    PyTorch saved has it as a tensor."""
    if capturable:
        step = state.get("step")
        if not isinstance(step, Tensor):
            step = state["step"] = ops.full([], float(step or 0))
        return step.add_(1)
    state["step"] = step = int(state.get("step", 0)) + 1
    return step


def _check_tensors(lr, betas, foreach, capturable):
    """What PyTorch refuses of settings that are tensors."""
    tensors = [isinstance(beta, Tensor) for beta in betas]
    if any(tensors) and not all(tensors):
        raise ValueError("betas must be either both floats or both Tensors")
    for name, is_tensor in (("lr", isinstance(lr, Tensor)), ("betas[0]", tensors[0]), ("betas[1]", tensors[1])):
        if is_tensor and foreach and not capturable:
            raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")


class SGD(Optimizer):
    """Stochastic gradient descent: p -= lr * g, with momentum (Nesterov's where told), dampening and weight decay."""

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None,
                 differentiable=False, fused=None):
        check_settings(**{"learning rate": (lr, 0), "momentum value": (momentum, 0), "weight_decay value": (weight_decay, 0)})
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov, "maximize": maximize, "foreach": foreach, "differentiable": differentiable,
                                  "fused": fused})

    def _update(self, params, grads, states, group):
        momentum, lr = group["momentum"], float(group["lr"])
        for p, grad, state in zip(params, grads, states):
            grad = _with_decay(p, grad, group)
            if momentum != 0:
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = state["momentum_buffer"] = grad.detach().clone()
                else:
                    buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
                grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
            p.add_(grad, alpha=-lr)


class Adam(Optimizer):
    """Adam (Kingma and Ba 2014): steps by running means of the gradient and of its square, bias corrected."""

    _decoupled = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None, maximize=False,
                 capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        check_settings(**{"learning rate": (lr, 0), "epsilon value": (eps, 0), "beta parameter at index 0": (betas[0], 0, 1),
                          "beta parameter at index 1": (betas[1], 0, 1), "weight_decay value": (weight_decay, 0)})
        _check_tensors(lr, betas, foreach, capturable)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
                                  "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
                                  "fused": fused, "decoupled_weight_decay": decoupled_weight_decay or self._decoupled})

    def _update(self, params, grads, states, group):
        (beta1, beta2), lr, eps = map(float, group["betas"]), float(group["lr"]), group["eps"]
        decoupled = group["decoupled_weight_decay"]
        for p, grad, state in zip(params, grads, states):
            if not state:
                state["exp_avg"], state["exp_avg_sq"] = _zeros(p), _zeros(p)
                if group["amsgrad"]:
                    state["max_exp_avg_sq"] = _zeros(p)
            step = _next_step(state, group["capturable"])
            if decoupled:
                grad = -grad if group["maximize"] else grad
                if group["weight_decay"] != 0:
                    p.mul_(1 - lr * group["weight_decay"])
            else:
                grad = _with_decay(p, grad, group)
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            mean.lerp_(grad, 1 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            if group["amsgrad"]:
                square = state["max_exp_avg_sq"].copy_(ops.maximum(state["max_exp_avg_sq"], square))
            if group["capturable"]:
                size = -(lr / (1 - beta1**step))
                p.addcdiv_(mean, (square.sqrt() / ((1 - beta2**step).sqrt() * size)).add_(eps / size))
                continue
            divisor = (square.sqrt() / math.sqrt(1 - beta2**step)).add_(eps)
            p.addcdiv_(mean, divisor, value=-(lr / (1 - beta1**step)))


class AdamW(Adam):
    """Adam with weight decay apart from the gradient (Loshchilov and Hutter 2017)."""

    _decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, **settings):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **settings)


class RMSprop(Optimizer):
    """Steps by the gradient over the root of its running square (Tieleman and Hinton 2012)."""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        check_settings(**{"learning rate": (lr, 0), "epsilon value": (eps, 0), "momentum value": (momentum, 0),
                          "weight_decay value": (weight_decay, 0), "alpha value": (alpha, 0)})
        super().__init__(params, {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
                                  "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
                                  "differentiable": differentiable})

    def _update(self, params, grads, states, group):
        alpha, lr = group["alpha"], float(group["lr"])
        for p, grad, state in zip(params, grads, states):
            if not state:
                state["square_avg"] = _zeros(p)
                if group["momentum"] > 0:
                    state["momentum_buffer"] = _zeros(p)
                if group["centered"]:
                    state["grad_avg"] = _zeros(p)
            _next_step(state, group["capturable"])
            grad = _with_decay(p, grad, group)
            square = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
            if group["centered"]:
                mean = state["grad_avg"].lerp_(grad, 1 - alpha)
                divisor = square.addcmul(mean, mean, value=-1).sqrt_()
            else:
                divisor = square.sqrt()
            divisor = divisor.add_(group["eps"])
            if group["momentum"] > 0:
                buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, divisor)
                p.add_(buffer, alpha=-lr)
            else:
                p.addcdiv_(grad, divisor, value=-lr)


class Adagrad(Optimizer):
    """Steps by the gradient over the root of the sum of its squares (Duchi and others 2011)."""

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *,
                 maximize=False, differentiable=False, fused=None):
        check_settings(**{"learning rate": (lr, 0), "lr_decay value": (lr_decay, 0), "weight_decay value": (weight_decay, 0),
                          "initial_accumulator_value value": (initial_accumulator_value, 0), "epsilon value": (eps, 0)})
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
                                  "differentiable": differentiable, "fused": fused})
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p].update(step=0, sum=ops.full_like(p, group["initial_accumulator_value"]))

    def _update(self, params, grads, states, group):
        for p, grad, state in zip(params, grads, states):
            step = _next_step(state)
            grad = _with_decay(p, grad, group)
            total = state["sum"].addcmul_(grad, grad, value=1)
            p.addcdiv_(grad, total.sqrt().add_(group["eps"]), value=-(float(group["lr"]) / (1 + (step - 1) * group["lr_decay"])))


class Adadelta(Optimizer):
    """Steps whose size follows from running squares of gradients and of steps (Zeiler 2012)."""

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):
        check_settings(**{"learning rate": (lr, 0), "rho value": (rho, 0, math.nextafter(1, 2)), "epsilon value": (eps, 0),
                          "weight_decay value": (weight_decay, 0)})
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
                                  "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def _update(self, params, grads, states, group):
        rho, eps = group["rho"], group["eps"]
        for p, grad, state in zip(params, grads, states):
            if not state:
                state["square_avg"], state["acc_delta"] = _zeros(p), _zeros(p)
            _next_step(state)
            grad = _with_decay(p, grad, group)
            root = state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho).add(eps).sqrt_()
            delta = state["acc_delta"].add(eps).sqrt_().div_(root).mul_(grad)
            state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
            p.add_(delta, alpha=-float(group["lr"]))
