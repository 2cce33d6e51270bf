"""LBFGS, with a line search for the strong Wolfe conditions (Nocedal and Wright, Numerical Optimization, 7.2 and
3.5)."""

import math

from shunt import _operators as ops
from shunt._tensor import Tensor
from shunt.autograd import enable_grad, no_grad
from shunt.optim.optimizer import Optimizer, check_settings

__all__ = ["LBFGS"]


def _cubic_minimum(x1, f1, g1, x2, f2, g2, bounds=None):
    """The minimum of the cubic with these values and slopes at two points, kept within bounds."""
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if square < 0:
        return (low + high) / 2
    d2 = math.sqrt(square)
    if x1 <= x2:
        at = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        at = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(at, low), high)


class _Point:
    """A step size with the loss, the gradient and the slope there."""

    def __init__(self, t, loss, grad, slope):
        self.t, self.loss, self.grad, self.slope = t, loss, grad, slope


def _kept_off_the_ends(t, points, stuck):
    """(step size, whether it is close to an end): one that is close twice is moved away."""
    low, high = sorted(p.t for p in points)
    margin = 0.1 * (high - low)
    if min(high - t, t - low) >= margin:
        return t, False
    if not stuck and low < t < high:
        return t, True
    return (high - margin if abs(t - high) < abs(t - low) else low + margin), False


def _line_search(evaluate, direction, t, start, tolerance_change, c1=1e-4, c2=0.9, most=25):
    """(point, evaluations) where the loss falls enough, and the slope is small enough; or the best that was found."""

    def at(t):
        loss, grad = evaluate(t)
        return _Point(t, loss, grad, float(grad.dot(direction)))

    def too_high(point):
        return point.loss > start.loss + c1 * point.t * start.slope

    def flat_enough(point):
        return abs(point.slope) <= -c2 * start.slope

    # Goes on until two points have a fit one between them.
    before, new, tries, done = start, at(t), 0, False
    points = None
    while tries < most:
        if too_high(new) or (tries > 1 and new.loss >= before.loss) or (new.slope >= 0 and not flat_enough(new)):
            points = [before, new]
            break
        if flat_enough(new):
            points, done = [new], True
            break
        bounds = new.t + 0.01 * (new.t - before.t), new.t * 10
        t = _cubic_minimum(before.t, before.loss, before.slope, new.t, new.loss, new.slope, bounds)
        before, new = new, at(t)
        tries += 1
    evaluations = tries + 1
    if points is None:
        points = [start, new]
    low, high = (0, 1) if points[0].loss <= points[-1].loss else (1, 0)
    stuck = False
    span = float(direction.abs().max())
    while not done and tries < most and abs(points[1].t - points[0].t) * span >= tolerance_change:
        a, b = points
        t = _cubic_minimum(a.t, a.loss, a.slope, b.t, b.loss, b.slope)
        t, stuck = _kept_off_the_ends(t, points, stuck)
        new = at(t)
        evaluations, tries = evaluations + 1, tries + 1
        if too_high(new) or new.loss >= points[low].loss:
            points[high] = new
            low, high = (0, 1) if points[0].loss <= points[1].loss else (1, 0)
            continue
        if flat_enough(new):
            done = True
        elif new.slope * (points[high].t - points[low].t) >= 0:
            points[high] = points[low]
        points[low] = new
    return points[low if len(points) > 1 else 0], evaluations


class LBFGS(Optimizer):
    """The quasi-Newton method of Broyden, Fletcher, Goldfarb and Shanno with little memory. step() takes a closure,
    which it calls several times.

    Args:
        params: of one group.
        lr: the step size, or with a line search the first one that is tried.
        max_iter, max_eval: the most iterations, and calls of the closure (1.25 times as many by default), of a step.
        tolerance_grad, tolerance_change: where a step ends: by the largest gradient, and by the change of parameters
        or loss. history_size: how many changes are remembered.
        line_search_fn: None or "strong_wolfe".
    """

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
    ):
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError(f"LBFGS(): expected lr to be one number, got shape {tuple(lr.shape)}")
        check_settings(**{"learning rate": (lr, 0)})
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError(f"LBFGS(): expected one group of parameters, got {len(self.param_groups)}")

    @property
    def _params(self):
        return self.param_groups[0]["params"]

    def _gradient(self):
        parts = [
            ops.zeros_like(p).reshape((-1,)) if p.grad is None else p.grad.reshape((-1,)) for p in self._params
        ]
        return ops.cat(parts, 0)

    def _move(self, t, direction):
        start = 0
        for p in self._params:
            p.add_(direction[start : start + p.numel()].view(p.shape), alpha=t)
            start += p.numel()

    def _evaluate(self, closure, values, t, direction):
        """The loss and the gradient after a step of this size; the parameters are as before then."""
        self._move(t, direction)
        loss, grad = float(closure()), self._gradient()
        for p, value in zip(self._params, values):
            p.copy_(value)
        return loss, grad

    @staticmethod
    def _direction(grad, state, history_size):
        """Minus the gradient, times the inverse of the second derivatives as the changes so far tell them."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -grad
        y, s = grad - state["prev_flat_grad"], state["d"] * state["t"]
        ys = float(y.dot(s))
        changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        if ys > 1e-10:
            if len(changes) == history_size:
                for memory in (changes, steps, inverses):
                    memory.pop(0)
            changes.append(y)
            steps.append(s)
            inverses.append(1.0 / ys)
            state["H_diag"] = ys / float(y.dot(y))
        direction, parts = -grad, []
        for change, step, inverse in zip(reversed(changes), reversed(steps), reversed(inverses)):
            parts.append(float(step.dot(direction)) * inverse)
            direction.add_(change, alpha=-parts[-1])
        direction = direction * state["H_diag"]
        for change, step, inverse, part in zip(changes, steps, inverses, reversed(parts)):
            direction.add_(step, alpha=part - float(change.dot(direction)) * inverse)
        return direction

    def step(self, closure):
        """Iterations until one of the limits. Returns the loss before them."""
        group, state = self.param_groups[0], self.state[self._params[0]]
        with no_grad():
            return self._iterate(enable_grad()(closure), group, state)

    def _iterate(self, closure, group, state):
        lr, tolerance_change = float(group["lr"]), group["tolerance_change"]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, evaluations = float(first_loss), 1
        state["func_evals"] += 1
        grad = self._gradient()
        if float(grad.abs().max()) <= group["tolerance_grad"]:
            return first_loss
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(grad, state, group["history_size"])
            state["d"], state["prev_flat_grad"], previous = direction, grad.clone(), loss
            state["prev_loss"] = loss
            state["t"] = t = min(1.0, 1.0 / float(grad.abs().sum())) * lr if state["n_iter"] == 1 else lr
            slope = float(grad.dot(direction))
            if slope > -tolerance_change:
                break
            calls = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError(
                        "LBFGS(): expected line_search_fn to be None or 'strong_wolfe', got "
                        f"{group['line_search_fn']!r}"
                    )
                values = [p.clone() for p in self._params]
                point, calls = _line_search(
                    lambda t: self._evaluate(closure, values, t, direction),
                    direction,
                    t,  # noqa: B023
                    _Point(0, loss, grad.clone(), slope),
                    tolerance_change,
                )
                loss, grad, t = point.loss, point.grad, point.t
                state["t"] = t
                self._move(t, direction)
            else:
                self._move(t, direction)
                if iteration != group["max_iter"]:
                    loss, calls = float(closure()), 1
                    grad = self._gradient()
            evaluations += calls
            state["func_evals"] += calls
            if (
                evaluations >= group["max_eval"]
                or float(grad.abs().max()) <= group["tolerance_grad"]
                or float(direction.abs().max()) * t <= tolerance_change
                or abs(loss - previous) < tolerance_change
            ):
                break
        return first_loss
