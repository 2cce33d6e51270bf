"""The optimisers' rules. Each is PyTorch's formula, operator by operator, so trajectories agree.

What depends on the number of steps is computed by operators, from a tensor: so a compiled step is a graph.
"""

import math

from shunt import _operators as ops
from shunt._tensor import Tensor
from shunt.optim._steps import count_steps, rate_of, number_in_state, with_decay
from shunt.optim.optimizer import Optimizer, check_betas, check_settings, check_tensor_rates


def _zeros(p):
    return ops.zeros_like(p)


class SGD(Optimizer):
    """Stochastic gradient descent: p -= lr * g, with momentum (Nesterov's where told), dampening and weight decay."""

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
                 foreach=None,
                 differentiable=False, fused=None):
        check_settings(**{"learning rate": (lr, 0),
                          "momentum value": (momentum, 0), "weight_decay value": (weight_decay, 0)})
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                f"SGD(): nesterov=True expects momentum greater than 0 and dampening=0, got {momentum} and {dampening}"
            )
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
                                  "differentiable": differentiable,
                                  "fused": fused})

    def _update(self, params, grads, states, group):
        momentum, lr = group["momentum"], rate_of(group["lr"])
        for p, grad, state in zip(params, grads, states):
            grad = with_decay(p, grad, group)
            if momentum != 0:
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = state["momentum_buffer"] = grad.detach().clone()
                else:
                    buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
                grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
            if isinstance(lr, Tensor):
                p.sub_(grad * lr)
            else:
                p.add_(grad, alpha=-lr)


class Adam(Optimizer):
    """Adam (Kingma and Ba 2014): steps by running means of the gradient and of its square, bias corrected."""

    _decoupled = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False,
                 capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        check_betas(betas)
        check_settings(**{"learning rate": (lr, 0),
                          "epsilon value": (eps, 0), "beta parameter at index 0": (betas[0], 0, 1),
                          "beta parameter at index 1": (betas[1], 0, 1), "weight_decay value": (weight_decay, 0)})
        check_tensor_rates(foreach, capturable, lr, betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "amsgrad": amsgrad,
                                  "maximize": maximize, "foreach": foreach, "capturable": capturable,
                                  "differentiable": differentiable,
                                  "fused": fused, "decoupled_weight_decay": decoupled_weight_decay or self._decoupled})

    def _update(self, params, grads, states, group):
        for p, state in zip(params, states):
            if "exp_avg" not in state:
                state["exp_avg"], state["exp_avg_sq"] = _zeros(p), _zeros(p)
                if group["amsgrad"]:
                    state["max_exp_avg_sq"] = _zeros(p)
        (beta1, beta2), lr = map(float, group["betas"]), rate_of(group["lr"])
        for step, places in count_steps(params, states, group, self.state):
            # m / (1 - beta1^t) * lr / (sqrt(v) / root + eps), where root^2 = 1 - beta2^t, both parts times root.
            root = (1 - beta2**step).sqrt_()
            scale, eps = root * (lr / (beta1**step - 1)), root * group["eps"]
            for i in places:
                mean, square = self._means(params[i], grads[i], states[i], group, beta1, beta2)
                params[i].addcdiv_(mean * scale, square.sqrt().add_(eps))

    def _means(self, p, grad, state, group, beta1, beta2):
        """The running means of the gradient and of its square, after this step; the parameter decays, too."""
        grad = with_decay(p, grad, group)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"].copy_(ops.maximum(state["max_exp_avg_sq"], square))
        return mean, square


class AdamW(Adam):
    """Adam with weight decay apart from the gradient (Loshchilov and Hutter 2017)."""

    _decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *,
                 maximize=False, foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, foreach=foreach,
                         capturable=capturable, differentiable=differentiable, fused=fused)


class RMSprop(Optimizer):
    """Steps by the gradient over the root of its running square (Tieleman and Hinton 2012)."""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False,
                 capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        check_settings(**{"learning rate": (lr, 0), "epsilon value": (eps, 0), "momentum value": (momentum, 0),
                          "weight_decay value": (weight_decay, 0), "alpha value": (alpha, 0)})
        super().__init__(params, {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
                                  "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
                                  "maximize": maximize,
                                  "differentiable": differentiable})

    def _update(self, params, grads, states, group):
        alpha, lr = group["alpha"], rate_of(group["lr"])
        count_steps(params, states, group, self.state)
        for p, grad, state in zip(params, grads, states):
            if "square_avg" not in state:
                state["square_avg"] = _zeros(p)
                if group["momentum"] > 0:
                    state["momentum_buffer"] = _zeros(p)
                if group["centered"]:
                    state["grad_avg"] = _zeros(p)
            grad = with_decay(p, grad, group)
            square = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
            if group["centered"]:
                mean = state["grad_avg"].lerp_(grad, 1 - alpha)
                divisor = square.addcmul(mean, mean, value=-1).sqrt_()
            else:
                divisor = square.sqrt()
            divisor = divisor.add_(group["eps"])
            if group["momentum"] > 0:
                buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, divisor)
                if isinstance(lr, Tensor):
                    p.sub_(buffer * lr)
                else:
                    p.add_(buffer, alpha=-lr)
            elif isinstance(lr, Tensor):
                p.addcdiv_(grad * -lr, divisor)
            else:
                p.addcdiv_(grad, divisor, value=-lr)


class Adagrad(Optimizer):
    """Steps by the gradient over the root of the sum of its squares (Duchi and others 2011)."""

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10,
                 foreach=None, *,
                 maximize=False, differentiable=False, fused=None):
        check_settings(**{"learning rate": (lr, 0),
                          "lr_decay value": (lr_decay, 0), "weight_decay value": (weight_decay, 0),
                          "initial_accumulator_value value": (initial_accumulator_value, 0), "epsilon value": (eps, 0)})
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
                                  "maximize": maximize,
                                  "differentiable": differentiable, "fused": fused})
        for group in self.param_groups:
            step = number_in_state()
            for p in group["params"]:
                self.state[p].update(step=step, sum=ops.full_like(p, group["initial_accumulator_value"]))

    def _update(self, params, grads, states, group):
        lr, decay = rate_of(group["lr"]), group["lr_decay"]
        for step, places in count_steps(params, states, group, self.state):
            rate = lr if decay == 0 else lr / (1 + (step - 1) * decay)
            for i in places:
                grad = with_decay(params[i], grads[i], group)
                root = states[i]["sum"].addcmul_(grad, grad, value=1).sqrt().add_(group["eps"])
                if isinstance(rate, Tensor):
                    params[i].addcdiv_(grad * -rate, root)
                else:
                    params[i].addcdiv_(grad, root, value=-rate)


class Adadelta(Optimizer):
    """Steps whose size follows from running squares of gradients and of steps (Zeiler 2012)."""

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False,
                 maximize=False,
                 differentiable=False):
        check_settings(**{"learning rate": (lr, 0),
                          "rho value": (rho, 0, math.nextafter(1, 2)), "epsilon value": (eps, 0),
                          "weight_decay value": (weight_decay, 0)})
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
                                  "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def _update(self, params, grads, states, group):
        rho, eps, lr = group["rho"], group["eps"], rate_of(group["lr"])
        count_steps(params, states, group, self.state)
        for p, grad, state in zip(params, grads, states):
            if "square_avg" not in state:
                state["square_avg"], state["acc_delta"] = _zeros(p), _zeros(p)
            grad = with_decay(p, grad, group)
            root = state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho).add(eps).sqrt_()
            delta = state["acc_delta"].add(eps).sqrt_().div_(root).mul_(grad)
            state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
            if isinstance(lr, Tensor):
                p.sub_(delta * lr)
            else:
                p.add_(delta, alpha=-lr)
