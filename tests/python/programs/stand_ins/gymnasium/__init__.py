"""What the programs use of gymnasium: a pole on a cart, after Barto, Sutton and Anderson (1983)."""

import math
import types

import numpy


class CartPole:
    """State: position, speed, angle and its speed. Actions: 0 pushes to the left, 1 to the right. A reward of 1 a step,
    until the pole leans by 12 degrees, the cart has gone 2.4, or 500 steps are done."""

    def __init__(self):
        # The average reward at which a program has learnt it; that of 200 steps is 195 by custom.
        self.spec = types.SimpleNamespace(reward_threshold=195.0)
        self.numbers = numpy.random.RandomState()

    def reset(self, seed=None):
        if seed is not None:
            self.numbers.seed(seed)
        self.state = self.numbers.uniform(-0.05, 0.05, 4)
        self.steps = 0
        return self.state.astype(numpy.float32), {}

    def step(self, action):
        gravity, cart, pole, half, tau = 9.8, 1.0, 0.1, 0.5, 0.02
        force = 10.0 if action == 1 else -10.0
        x, speed, angle, turn = self.state
        sine, cosine, mass = math.sin(angle), math.cos(angle), cart + pole
        push = (force + pole * half * turn * turn * sine) / mass
        turning = (gravity * sine - cosine * push) / (half * (4 / 3 - pole * cosine * cosine / mass))
        speeding = push - pole * half * turning * cosine / mass
        self.state = numpy.array([x + tau * speed, speed + tau * speeding, angle + tau * turn, turn + tau * turning])
        self.steps += 1
        fallen = bool(abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.radians(12))
        return self.state.astype(numpy.float32), 1.0, fallen, self.steps >= 500, {}


def make(name, render_mode=None):
    """The environment CartPole-v1."""
    assert name == "CartPole-v1" and render_mode is None, (name, render_mode)
    return CartPole()
