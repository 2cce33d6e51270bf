"""What the tests of walks share: watched warm-up calls, a walk, and the guards that stopped holding."""

import importlib.util
import sys
from pathlib import Path

import torch

if importlib.util.find_spec("shunt_torch") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "torch"))

from shunt_torch.observe import Observed  # noqa: E402
from shunt_torch.walk import Walk, mismatch, walk  # noqa: E402


def watch(step, *args, calls: int = 2) -> Observed:
    observed = Observed()
    for _ in range(calls):
        with observed.watching():
            step(*args)
    return observed


def walk_of(step, *args, calls: int = 2) -> Walk:
    """The walk of a callable after warm-up calls; none of it may be refused."""
    result = walk_with_refusals(step, *args, calls=calls)
    assert result.refusals == []
    return result


def walk_with_refusals(step, *args, calls: int = 2) -> Walk:
    observed = watch(step, *args, calls=calls)
    assert observed.refusals == []
    roots = [("step", step)] + [(f"args[{i}]", a) for i, a in enumerate(args) if not isinstance(a, torch.Tensor)]
    result = walk(roots, observed)
    assert changed(result) == []
    return result


def changed(result: Walk) -> list:
    """The paths of the guards that don't hold."""
    return [g.path for g in result.guards if mismatch(g) is not None]


def changed_by_call(step, *args, calls: int = 2) -> list:
    """What one more call changes, as a recording compares it."""
    result = walk_of(step, *args, calls=calls)
    step(*args)
    return changed(result)


def refusals(step, *args, calls: int = 2) -> list:
    """The reasons, each with its path, of a walk that is refused."""
    return [f"{r.path}: {r.reason}" for r in walk_with_refusals(step, *args, calls=calls).refusals]


# Programs.

X = torch.ones(2, 3)


def training_step(model, optimizer, loss_fn=torch.nn.functional.mse_loss):
    def step(x):
        optimizer.zero_grad()
        out = model(x)
        out = out[0] if isinstance(out, tuple) else out
        loss = loss_fn(out, torch.zeros_like(out))
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def fused_adam(model):
    return torch.optim.Adam(model.parameters(), fused=True)


class Custom(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)
        self.act = torch.nn.ReLU()
        self.scale = 2.0
        self.sizes = [1, 2]
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x):
        return self.act(self.fc(x) - self.mean) * self.scale + sum(self.sizes)


def make_custom():
    model = Custom()

    def step(x):
        return model(x)

    return model, step


class Money:
    def __init__(self, n):
        self.n = n

    def __mul__(self, x):
        return x * self.n
