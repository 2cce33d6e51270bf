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
