"""Fast mode, judged by PyTorch's table of operators: forward and gradients, beside the same in float64.

Of each entry one drawn sample, with SHUNT_TEST_LONG=1 all. A replay's results and grads are no further from float64 than twice eager
code's, but for the rounding of the operators themselves; what each of the plan's operators may differ by is checked in each replay.
"""

import warnings

import pytest
import torch
from torch.utils._pytree import tree_map

import judging
import shunt_torch
from operator_samples import ENTRIES, drawn, dtype_of, forward, function_of, gradients, is_differentiable, samples_of, step_and_calls

_EPS = torch.finfo(torch.float32).eps
# In units of the last place of the largest element: each operator of Shunt's may be 2 off, and an entry has a few of them.
_ROUNDING = 8
_judged = set()  # entries of which something was replayed by Shunt's operators


def _is_single(t):
    return isinstance(t, torch.Tensor) and t.layout is torch.strided and t.dtype is torch.float32


def _doubled(tree):
    tree = judging.copy_of(tree)
    return tree_map(lambda t: t.detach().double().requires_grad_(t.requires_grad) if _is_single(t) else t, tree)


def _run(step, call):
    """Results, then the grads of what it was called with."""
    judging.set_seed(0)
    return [step(*call), [t.grad for t in judging.tensors_of(call)]]


def _too_far(ours, eager, right):
    """The first tensor that is further from float64 than twice eager's; "" where none is."""
    for i, (x, y, z) in enumerate(zip(*map(judging.tensors_of, (ours, eager, right)), strict=True)):
        if not _is_single(x) or z.dtype is not torch.float64 or x.shape != z.shape:
            continue
        x, y, z = x.detach().double(), y.detach().double(), z.detach()
        counted = x.isfinite() & y.isfinite() & z.isfinite()
        if not torch.equal(x.isfinite(), y.isfinite()):
            return f"tensor {i}: {x} isn't finite where {y} is"
        far, near = (torch.where(counted, t - z, 0).norm().item() for t in (x, y))
        bound = 2 * near + _ROUNDING * _EPS * torch.where(counted, z, 0).norm().item() + torch.finfo(torch.float32).tiny
        if far > bound:
            return f"tensor {i}: {far} from float64, eager code {near}, at most {bound}"
    return ""


def _judge(name, make, function, sample):
    judged = step_and_calls(make, function, [sample])
    if judged is None:
        return
    step, [call] = judged
    captured = shunt_torch.capture(step, numerics="fast", check="always")
    for _ in range(5):
        _run(captured, judging.copy_of(call))
    places = [place for r in captured._recordings for place, _, _ in r.describe()]
    if not judging.replays_of(captured) or "fused" not in places:
        return
    # With check="always" the results are the function's own; these are the plan's.
    captured = shunt_torch.capture(step, numerics="fast", check="never")
    for _ in range(4):
        got = _run(captured, judging.copy_of(call))
    eager = _run(step, judging.copy_of(call))
    try:
        right = _run(step, _doubled(call))
    except (RuntimeError, TypeError, ValueError):
        return  # it has no float64
    what = _too_far(got, eager, right)
    assert not what, f"{name}, {make.__name__}: {what}"
    _judged.add(name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name, op in ENTRIES.items() if dtype_of(op) is torch.float32])
def test_operator(name):
    op = ENTRIES[name]
    samples = samples_of(op, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in drawn(name, samples, 1):
            for make in (forward, gradients) if is_differentiable(op) else (forward,):
                _judge(name, make, function_of(op), samples[i])


def test_many_have_been_judged():
    assert len(_judged) > 200, sorted(_judged)
