"""Fits a damped pendulum to what was measured of another: its length and friction, by gradients through Runge-Kutta
steps."""

import time

import shunt
from _options import parse, plot


def motion(state, length, friction):
    """d/dt of (angle, speed)."""
    angle, speed = state
    return speed, -9.81 / length * angle.sin() - friction * speed


def step(state, length, friction, dt):
    """One step of the classical Runge-Kutta method."""
    def after(state, change, dt):
        return tuple(s + dt * c for s, c in zip(state, change))

    k1 = motion(state, length, friction)
    k2 = motion(after(state, k1, dt / 2), length, friction)
    k3 = motion(after(state, k2, dt / 2), length, friction)
    k4 = motion(after(state, k3, dt), length, friction)
    return tuple(s + dt / 6 * (a + 2 * b + 2 * c + d) for s, a, b, c, d in zip(state, k1, k2, k3, k4))


def angles(start, length, friction, steps, dt):
    """The angles after each of the steps, (steps, pendulums)."""
    state, seen = (start, shunt.zeros_like(start)), []
    for _ in range(steps):
        state = step(state, length, friction, dt)
        seen.append(state[0])
    return shunt.stack(seen)


def fit(compiled, rounds, steps, dt=0.02):
    """The parameters found, the losses, and the seconds that it took."""
    start = shunt.linspace(0.2, 1.5, 8)
    measured = angles(start, shunt.tensor(1.3), shunt.tensor(0.25), steps, dt)
    parameters = shunt.tensor([0.8, 0.05], requires_grad=True)

    def loss_and_gradient(parameters):
        loss = ((angles(start, parameters[0], parameters[1], steps, dt) - measured) ** 2).mean()
        return loss.detach(), shunt.autograd.grad(loss, parameters)[0]

    if compiled:
        loss_and_gradient = shunt.compile(loss_and_gradient)
    mean, losses, begin = shunt.zeros(2), [], time.perf_counter()
    for _ in range(rounds):
        loss, gradient = loss_and_gradient(parameters)
        losses.append(loss.item())
        with shunt.no_grad():
            mean.mul_(0.9).add_(gradient, alpha=0.1)
            parameters -= 0.05 * mean / (mean.abs() + 1e-3)
    return parameters.tolist(), losses, time.perf_counter() - begin


def main():
    options = parse(__doc__, rounds=150, steps=60)
    length, friction = None, None
    for compiled in (False, True):
        (length, friction), losses, seconds = fit(compiled, options.rounds, options.steps)
        print(f"{'compiled' if compiled else 'eager':8}  length {length:.3f}  friction {friction:.3f}  loss "
              f"{losses[0]:.5f} -> {losses[-1]:.7f}  {seconds:.2f} s")
    if options.plot:
        plot(options.plot, "Fit of a pendulum", "round", "loss", loss=(range(len(losses)), losses))


if __name__ == "__main__":
    main()
