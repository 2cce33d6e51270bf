"""More of the optimisers' rules: variants of Adam, and those without momentum."""

import math

from shunt import _operators as ops
from shunt import finfo
from shunt.optim._steps import count_steps, number_in_state, rate_of, with_decay
from shunt.optim.optimizer import Optimizer, check_betas, check_settings, check_tensor_rates


def _next_step(state):
    """Counts the step, in a tensor as PyTorch saves it, of the parameter's own."""
    step = int(state.get("step", 0)) + 1
    state["step"] = number_in_state(step)
    return step


def _check(lr, betas=None, eps=None, weight_decay=None, **more):
    settings = {"learning rate": (lr, 0)}
    if eps is not None:
        settings["epsilon value"] = (eps, 0)
    if betas is not None:
        check_betas(betas)
    for i, beta in enumerate(betas or ()):
        settings[f"beta parameter at index {i}"] = (beta, 0, 1)
    if weight_decay is not None:
        settings["weight_decay value"] = (weight_decay, 0)
    settings.update(more)
    check_settings(**settings)


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat 2016)."""

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        _check(lr, betas, eps, weight_decay, **{"momentum_decay value": (momentum_decay, 0)})
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def _update(self, params, grads, states, group):
        for p, state in zip(params, states):
            if "exp_avg" not in state:
                state["exp_avg"], state["exp_avg_sq"] = ops.zeros_like(p), ops.zeros_like(p)
                state["mu_product"] = ops.ones([], dtype=p.dtype if p.is_floating_point() else None, device="cpu")
        (beta1, beta2), lr = map(float, group["betas"]), rate_of(group["lr"])
        for step, places in count_steps(params, states, group, self.state):
            mu, mu_next = (beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
            correction = 1 - beta2**step
            for i in places:
                p, state = params[i], states[i]
                grad = with_decay(p, grads[i], group)
                product = state["mu_product"].mul_(mu).to(step.dtype)
                mean = state["exp_avg"].lerp_(grad, 1 - beta1)
                square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
                divisor = (square / correction).sqrt_().add_(group["eps"])
                p.addcdiv_(grad * (lr * (1 - mu) / (product - 1)), divisor)
                p.addcdiv_(mean * (lr * mu_next / (product * mu_next - 1)), divisor)


class RAdam(Optimizer):
    """Adam whose first steps, of an uncertain size, are those of a running mean (Liu and others 2019)."""

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        _check(lr, betas, eps, weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
                "differentiable": differentiable,
            },
        )

    def _update(self, params, grads, states, group):
        for p, state in zip(params, states):
            if "exp_avg" not in state:
                state["exp_avg"], state["exp_avg_sq"] = ops.zeros_like(p), ops.zeros_like(p)
        (beta1, beta2), lr = map(float, group["betas"]), rate_of(group["lr"])
        limit = 2 / (1 - beta2) - 1
        for step, places in count_steps(params, states, group, self.state):
            power = beta2**step
            length = limit - 2 * step * power / (1 - power)  # of the mean of squares, in steps
            rectified = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
            scale, rate = ((1 - power) * rectified).sqrt(), lr / (1 - beta1**step)
            for i in places:
                p, state = params[i], states[i]
                grad = with_decay(p, grads[i], group)
                mean = state["exp_avg"].lerp_(grad, 1 - beta1)
                square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
                update = mean * rate
                # Of too short a mean the scale may be NaN; it isn't taken then.
                p.sub_(ops.where(length > 5, update / square.sqrt().add_(group["eps"]) * scale, update))


class Adamax(Optimizer):
    """Adam with the largest gradient in the place of the mean square (Kingma and Ba 2014)."""

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_tensor_rates(foreach, capturable, lr)
        _check(lr, betas, eps, weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _update(self, params, grads, states, group):
        for p, state in zip(params, states):
            if "exp_avg" not in state:
                state["exp_avg"], state["exp_inf"] = ops.zeros_like(p), ops.zeros_like(p)
        (beta1, beta2), lr = map(float, group["betas"]), rate_of(group["lr"])
        for step, places in count_steps(params, states, group, self.state):
            rate = lr / (beta1**step - 1)
            for i in places:
                state = states[i]
                grad = with_decay(params[i], grads[i], group)
                mean = state["exp_avg"].lerp_(grad, 1 - beta1)
                largest = state["exp_inf"].copy_(ops.maximum(state["exp_inf"] * beta2, grad.abs().add_(group["eps"])))
                params[i].addcdiv_(mean * rate, largest)


class ASGD(Optimizer):
    """Stochastic gradient descent whose weights are averaged, in state["ax"] (Polyak and Juditsky 1992)."""

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_tensor_rates(foreach, capturable, lr)
        _check(lr, weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _update(self, params, grads, states, group):
        lr, lambd = float(group["lr"]), group["lambd"]
        for p, grad, state in zip(params, grads, states):
            if "ax" not in state:
                state["eta"], state["mu"], state["ax"] = number_in_state(lr), number_in_state(1), ops.zeros_like(p)
            step, eta, mu = _next_step(state), float(state["eta"]), float(state["mu"])
            grad = with_decay(p, grad, group)
            p.mul_(1 - lambd * eta).add_(grad, alpha=-eta)
            if mu == 1:
                state["ax"].copy_(p)
            else:
                state["ax"].add_((p - state["ax"]).mul_(mu))
            state["eta"] = number_in_state(lr / (1 + lambd * lr * step) ** group["alpha"])
            state["mu"] = number_in_state(1 / max(1.0, step - group["t0"]))


class Rprop(Optimizer):
    """Steps whose size grows where a gradient keeps its sign, and shrinks where it changes (Riedmiller and Braun
    1993)."""

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_tensor_rates(foreach, capturable, lr)
        _check(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _update(self, params, grads, states, group):
        (shrink, grow), (least, most) = group["etas"], group["step_sizes"]
        count_steps(params, states, group, self.state)
        for p, grad, state in zip(params, grads, states):
            if "prev" not in state:
                state["prev"], state["step_size"] = ops.zeros_like(p), ops.full_like(grad, float(group["lr"]))
            grad = -grad if group["maximize"] else grad
            agreement = grad * state["prev"]
            factor = ops.ones_like(grad).masked_fill_(agreement > 0, grow).masked_fill_(agreement < 0, shrink)
            state["step_size"].mul_(factor).clamp_(least, most)
            # Where the sign has changed, no step is made, and none is compared with next time.
            grad = grad.masked_fill(agreement < 0, 0.0)
            p.addcmul_(grad.sign(), state["step_size"], value=-1)
            state["prev"].copy_(grad)


class Adafactor(Optimizer):
    """Adam whose mean squares of a matrix are kept by rows and columns alone (Shazeer and Stern 2018)."""

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        floor, relative_floor = eps
        if not beta2_decay <= 0:
            raise ValueError(f"Adafactor(): beta2_decay: expected 0 or less, got {beta2_decay}")
        settings = {"learning rate": (lr, 0), "eps[1]": (relative_floor, 0), "d": (d, 1)}
        if floor is not None:
            settings["eps[0]"] = (floor, 0)
        check_settings(**settings, weight_decay=(weight_decay, 0))
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )

    def _update(self, params, grads, states, group):
        lr = float(group["lr"])
        for p, grad, state in zip(params, grads, states):
            eps = finfo(p.dtype).eps if group["eps"][0] is None else group["eps"][0]
            step = _next_step(state)
            grad = -grad if group["maximize"] else grad
            size = max(group["eps"][1], float(p.norm(2)) / math.sqrt(p.numel())) * min(lr, 1 / math.sqrt(step))
            if group["weight_decay"] != 0:
                p.mul_(1 - lr * group["weight_decay"])
            update = (
                self._mean_square(grad, state, step ** group["beta2_decay"], eps)
                .clamp_(min=eps * eps)
                .rsqrt_()
                .mul_(grad)
            )
            too_large = max(1.0, float(update.norm(2)) / (math.sqrt(update.numel()) * group["d"]))
            p.add_(update, alpha=-size / too_large)

    @staticmethod
    def _mean_square(grad, state, weight, eps):
        """The running mean of squares; of matrices the product of those of rows and columns."""
        if grad.dim() <= 1:
            if "variance" not in state:
                state["variance"] = ops.zeros_like(grad)
            return state["variance"].lerp_(grad.square(), weight).clone()
        if "row_var" not in state:
            state["row_var"], state["col_var"] = ops.zeros_like(grad[..., :1]), ops.zeros_like(grad[..., :1, :])
        rows = state["row_var"].lerp_(grad.norm(2, -1, True).square_().div_(grad.size(-1)), weight)
        columns = state["col_var"].lerp_(grad.norm(2, -2, True).square_().div_(grad.size(-2)), weight)
        return (rows @ columns).div_(rows.mean(-2, True).clamp_(min=eps))
