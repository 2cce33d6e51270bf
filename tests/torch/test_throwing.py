"""Operators that raise no error whatever their elements are, judged by PyTorch's table of operators, and functions that handle errors."""

import itertools
import random

import judging
import operator_samples
import pytest
import shunt_torch
import torch
from capturing import bits, recordings, replays
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from shunt_torch.throwing import never_throws

F = torch.nn.functional


# --- the table ---


class Calls(TorchDispatchMode):
    """Keeps the operators that are said to throw never, and what they were called with."""

    def __init__(self):
        super().__init__()
        self.calls, self.seen = [], set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors = _tensors((args, kwargs))
        key = func, tuple((t.dtype, t.dim()) for t in tensors)
        is_small = all(t.numel() < 10_000 and t.layout is torch.strided for t in tensors)
        if key not in self.seen and is_small and not _crashes(func) and never_throws(func._schema, args, kwargs):
            self.seen.add(key)
            with _disable_current_modes():
                self.calls.append((func, _copied((args, kwargs))))
        return func(*args, **kwargs)


def _crashes(func):
    """Operators that end the process for some elements: the smallest integer by -1, and indices that no forward operator gives."""
    return func._schema.name.removeprefix("aten::") in {
        "lcm", "gcd", "max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward", "adaptive_max_pool2d_backward",
        "adaptive_max_pool3d_backward", "grid_sampler_2d_backward"}


def _tensors(tree):
    return [t for t in tree_leaves(tree) if isinstance(t, torch.Tensor)]


def _copied(tree):
    return tree_map(lambda t: t.detach().clone() if isinstance(t, torch.Tensor) else t, tree)


def _fills(t):
    if t.dtype is torch.bool:
        values = [True, False]
    elif t.dtype.is_floating_point or t.dtype.is_complex:
        values = [0.0, -1.0, 2.5, 1e30, float("nan"), float("inf"), -float("inf")]
    else:
        values = [0, 1, 2, 100, torch.iinfo(t.dtype).max, torch.iinfo(t.dtype).min]
        values += [-1] if torch.iinfo(t.dtype).min < 0 else []
    yield from (torch.full_like(t, v) for v in values)


def _others(tree):
    """The same arguments with other elements, one tensor after the other."""
    for i, t in enumerate(_tensors(tree)):
        for fill in _fills(t) if t.numel() else ():
            count = itertools.count()
            yield tree_map(lambda x: (fill if next(count) == i else x) if isinstance(x, torch.Tensor) else x, tree)


def _runs(func, tree):
    args, kwargs = _copied(tree)
    try:
        func(*args, **kwargs)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


_ENTRIES = sorted(operator_samples.ENTRIES)


@pytest.mark.parametrize("name", _ENTRIES if judging.ALL else sorted(random.Random(0).sample(_ENTRIES, 80)))
def test_operators_that_throw_for_no_elements(name):
    op = operator_samples.ENTRIES[name]
    calls = Calls()
    for dtype in (operator_samples.dtype_of(op), torch.int64):
        if dtype not in op.supported_dtypes("cpu"):
            continue
        has_grad = op.supports_autograd and dtype.is_floating_point
        judging.set_seed(0)
        for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=has_grad), 20 if judging.ALL else 4):
            try:
                with calls:
                    out = op(sample.input, *sample.args, **sample.kwargs)
                    out = [t for t in _tensors(out) if t.requires_grad]
                    if out:
                        torch.autograd.backward(out, [torch.ones_like(t) for t in out])
            except Exception:
                continue  # of samples that aren't for this
    for func, tree in calls.calls:
        if not _runs(func, tree):
            for other in _others(tree):
                assert not _runs(func, other), (func, other)


# --- functions that handle errors ---

ints, floats = torch.tensor([4, 6]), torch.tensor([[0.5, 0.25], [0.5, 0.125]])
BROKEN = {
    "//": (lambda x, y: x // y, ints, torch.tensor([2, 3]), torch.tensor([0, 3])),
    "%": (lambda x, y: x % y, ints, torch.tensor([2, 3]), torch.tensor([0, 3])),
    "fmod": (torch.fmod, ints, torch.tensor([2, 3]), torch.tensor([0, 3])),
    "div": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), ints, torch.tensor([2, 3]), torch.tensor([0, 3])),
    "foreach": (lambda x, y: torch._foreach_div([x], [y]) and x % y, ints, torch.tensor([2, 3]), torch.tensor([0, 3])),
    "multi_margin_loss": (F.multi_margin_loss, floats, torch.tensor([0, 1]), torch.tensor([0, 7])),
    "multilabel_margin_loss": (F.multilabel_margin_loss, floats, torch.tensor([[0, 1], [0, 1]]), torch.tensor([[0, 7], [0, 1]])),
    "nll_loss": (lambda x, t: F.nll_loss(x[None, :, :, None].expand(1, 2, 2, 2), t), floats, torch.zeros(1, 2, 2).long(),
                 torch.full((1, 2, 2), 9)),
    "binary_cross_entropy": (F.binary_cross_entropy, floats, floats, floats * 9),
    "an input of binary_cross_entropy": (lambda x, t: F.binary_cross_entropy(t, x), floats, floats, floats * 9),
    "searchsorted": (lambda x, s: torch.searchsorted(x[0], x[1], sorter=s), floats, torch.tensor([0, 1]), torch.tensor([0, 7])),
    "histc": (lambda x, t: torch.histc(t), floats, floats, floats * float("nan")),
    "masked_scatter": (lambda x, m: x.masked_scatter(m, x[0, :1]), floats, torch.tensor([True, False]).expand(2, 2) & torch.eye(2).bool(),
                       torch.ones(2, 2).bool()),
    "fill": (lambda x, v: x.clone().fill_(v), torch.tensor([1], dtype=torch.uint8), torch.tensor(3), torch.tensor(1000)),
    "take": (torch.take, floats, torch.tensor([0, 1]), torch.tensor([0, 9])),
    "svd": (lambda x, t: torch.linalg.svdvals(t), floats, floats, floats * float("nan")),
    "poisson": (lambda x, t: torch.normal(x, t), floats, floats, -floats),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_handled_error_after_a_write(name):
    operator, x, good, bad = BROKEN[name]
    results = []
    for is_captured in (False, True):
        written = torch.zeros(2)

        def step(x, y):
            written.add_(1)
            try:
                out = operator(x, y)
            except (RuntimeError, IndexError):
                out = x
            return out * 1, written * 2

        step = shunt_torch.capture(step, check="never") if is_captured else step
        torch.manual_seed(0)
        results.append([bits(step(x, y)) for y in (good, good, good, good, bad, good, bad)])
    assert results[0] == results[1]
    # The operator throws at all: where it isn't refused, this test says nothing.
    assert recordings(step) == 0 or _throws(operator, x, bad) is False


def _throws(operator, x, y):
    try:
        operator(x, y)
    except (RuntimeError, IndexError):
        return True
    return False


def test_functions_that_handle_errors_are_captured_where_no_operator_throws():
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                                torch.nn.Dropout(0.5), torch.nn.Flatten(), torch.nn.Linear(18, 3), torch.nn.LayerNorm(3))
    optimizer = torch.optim.Adam(model.parameters(), fused=True)

    def step(x):
        try:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), x.new_zeros(2, 3)) + F.softmax(model(x), 1).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()
        finally:
            x * 2

    captured = shunt_torch.capture(step)
    for _ in range(6):
        captured(torch.randn(2, 1, 8, 8))
    assert replays(captured) > 0, captured.explain()
