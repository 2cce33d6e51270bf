"""The programs that bench/torch/run measures and tests/torch/test_programs.py checks: code for PyTorch as anyone writes it, without a
word of capture.

Each function of PROGRAMS makes a Work from a fixed seed, so that two of them compute the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Work:
    step: Callable  # what is to be captured
    calls: list[tuple]  # its arguments, in turn
    state: list = field(default_factory=list)  # modules and optimisers that it changes

    def tensors(self) -> list[torch.Tensor]:
        """Everything in `state`."""
        out = []
        for owner in self.state:
            if isinstance(owner, nn.Module):
                out += [*owner.parameters(), *(p.grad for p in owner.parameters() if p.grad is not None), *owner.buffers()]
            else:
                out += [t for s in owner.state.values() for t in s.values() if isinstance(t, torch.Tensor)]
        return out


BATCHES = 4


def regression(make_model: Callable, make_optimizer: Callable, *shape: int) -> Work:
    """One step that fits a model to random targets by mean squared error."""
    torch.manual_seed(0)
    model = make_model()
    optimizer = make_optimizer(model.parameters())
    with torch.no_grad():
        inputs = [torch.randn(*shape) for _ in range(BATCHES)]
        calls = [(x, torch.randn_like(model(x))) for x in inputs]

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return Work(step, calls, [model, optimizer])


def perceptron(width: int) -> Callable:
    return lambda: nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))


def momentum(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def fused_adam(parameters):
    return torch.optim.Adam(parameters, lr=1e-3, fused=True)


def dqn() -> Work:
    """Deep Q-learning's update on a batch from the replay memory."""
    torch.manual_seed(0)

    def network():
        return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    online, target = network(), network()
    target.load_state_dict(online.state_dict())
    optimizer = fused_adam(online.parameters())
    gamma = 0.99
    calls = [(torch.randn(64, 4), torch.randint(0, 2, (64, 1)), torch.randn(64), torch.randn(64, 4), (torch.rand(64) < 0.1).float())
             for _ in range(BATCHES)]

    def step(states, actions, rewards, next_states, done):
        with torch.no_grad():
            best = target(next_states).max(1).values
            expected = rewards + gamma * best * (1 - done)
        q = online(states).gather(1, actions).squeeze(1)
        loss = F.smooth_l1_loss(q, expected)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(online.parameters(), 10.0)
        optimizer.step()
        return loss

    return Work(step, calls, [online, target, optimizer])


def ppo() -> Work:
    """Proximal policy optimisation, a step on a minibatch: its distribution checks its arguments, as it does by default."""
    torch.manual_seed(0)
    actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = fused_adam(parameters)
    clip, value_weight, entropy_weight = 0.2, 0.5, 0.01
    calls = [(torch.randn(64, 4), torch.randint(0, 2, (64,)), torch.randn(64) * 0.1 - 0.7, torch.randn(64), torch.randn(64))
             for _ in range(BATCHES)]

    def step(observations, actions, old_log_probs, advantages, returns):
        distribution = torch.distributions.Categorical(logits=actor(observations))
        ratio = (distribution.log_prob(actions) - old_log_probs).exp()
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy_loss = torch.max(-advantages * ratio, -advantages * ratio.clamp(1 - clip, 1 + clip)).mean()
        value_loss = 0.5 * (critic(observations).squeeze(1) - returns).pow(2).mean()
        loss = policy_loss + value_weight * value_loss - entropy_weight * distribution.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.5)
        optimizer.step()
        return loss

    return Work(step, calls, [actor, critic, optimizer])


def lstm() -> Work:
    """A loop over 8 time steps of an LSTMCell, with a head behind the last."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTMCell(16, 32)
            self.head = nn.Linear(32, 4)

        def forward(self, x):
            h = x.new_zeros(x.shape[1], 32)
            c = x.new_zeros(x.shape[1], 32)
            for t in range(x.shape[0]):
                h, c = self.cell(x[t], (h, c))
            return self.head(h)

    return regression(Net, fused_adam, 8, 4, 16)


def convolution() -> Work:
    """Digits of 8x8 pixels in ten classes."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10))
    optimizer = momentum(model.parameters())
    calls = [(torch.randn(32, 1, 8, 8), torch.randint(0, 10, (32,))) for _ in range(BATCHES)]

    def step(images, labels):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return Work(step, calls, [model, optimizer])


def transformer() -> Work:
    """A layer of an encoder: 4 sequences of 16 tokens, 64 wide."""
    return regression(lambda: nn.TransformerEncoderLayer(64, 4, dim_feedforward=128, dropout=0.0, batch_first=True), fused_adam, 4, 16, 64)


def policy() -> Work:
    """One inference of a controller."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))

    @torch.no_grad()
    def act(observation):
        return model(observation)

    return Work(act, [(torch.randn(1, 4),) for _ in range(BATCHES)], [model])


def control() -> Work:
    """A controller and what it controls, 4 steps ahead."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
    a, b = torch.eye(4) + 0.02 * torch.randn(4, 4), 0.02 * torch.randn(1, 4)

    @torch.no_grad()
    def ahead(state):
        cost = torch.zeros(())
        for _ in range(4):
            force = torch.clamp(model(state), -1, 1)
            state = state @ a + force * b
            cost = cost + state.square().sum() + 0.1 * force.square().sum()
        return state, cost

    return Work(ahead, [(torch.randn(1, 4),) for _ in range(BATCHES)], [model])


def pendulum_energy(angle, speed, gravity, damping):
    """The energy of damped pendulums after 10 Runge-Kutta steps."""
    dt = 0.02

    def slope(angle, speed):
        return speed, -gravity * torch.sin(angle) - damping * speed

    for _ in range(10):
        a1, s1 = slope(angle, speed)
        a2, s2 = slope(angle + 0.5 * dt * a1, speed + 0.5 * dt * s1)
        a3, s3 = slope(angle + 0.5 * dt * a2, speed + 0.5 * dt * s2)
        a4, s4 = slope(angle + dt * a3, speed + dt * s3)
        angle = angle + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        speed = speed + dt / 6 * (s1 + 2 * s2 + 2 * s3 + s4)
    return (0.5 * speed.square() + gravity * (1 - torch.cos(angle))).sum()


def pendulum() -> Work:
    """256 pendulums, and the gradient of their energy with respect to what they are made of."""
    torch.manual_seed(0)
    gravity, damping = torch.full((256,), 9.81, requires_grad=True), torch.full((256,), 0.1, requires_grad=True)

    def step(angle, speed):
        return torch.autograd.grad(pendulum_energy(angle, speed, gravity, damping), (gravity, damping))

    return Work(step, [(torch.randn(256), torch.randn(256)) for _ in range(BATCHES)])


def nothing() -> Work:
    """A call that computes nothing: what is left is the call itself."""
    torch.manual_seed(0)
    return Work(lambda x: x, [(torch.randn(16),) for _ in range(BATCHES)])


def operators() -> Work:
    """500 operators, to be recorded."""
    torch.manual_seed(0)
    w, b = torch.randn(16, 16) * 0.1, torch.randn(16)

    @torch.no_grad()
    def chain(x):
        for _ in range(100):
            x = torch.tanh(x @ w + b) * 0.9 - b
        return x

    return Work(chain, [(torch.randn(32, 16),) for _ in range(BATCHES)])


PROGRAMS: dict[str, Callable[[], Work]] = {
    "mlp16_sgd": lambda: regression(perceptron(16), momentum, 32, 16),
    "mlp64_sgd": lambda: regression(perceptron(64), momentum, 32, 64),
    "mlp16_adam": lambda: regression(perceptron(16), fused_adam, 32, 16),
    "mlp64_adam": lambda: regression(perceptron(64), fused_adam, 32, 64),
    "dqn": dqn,
    "ppo": ppo,
    "lstm": lstm,
    "convolution": convolution,
    "transformer": transformer,
    "policy": policy,
    "control": control,
    "pendulum": pendulum,
    "nothing": nothing,
    "operators": operators,
}
