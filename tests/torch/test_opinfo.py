"""Capture in exact mode, judged by PyTorch's table of operators: forward, gradients and in place, equal to eager code
to the bit.

Of each entry two drawn samples, with SHUNT_TORCH_ALL=1 all. What is refused has to be in refusals.json, and nothing else.
"""

import itertools
import operator
import random

import numpy
import pytest
import torch
import torch.testing._internal.common_methods_invocations as methods
from torch.utils._pytree import tree_flatten, tree_leaves

import judging
import shunt_torch

# It seeds the generator inside of operators that draw; here the generator is set before each call.
methods.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)

SAMPLES = 400 if judging.ALL else 50  # that are looked at of an entry
FLOOR = 0.95
# Slots of C classes that no recorder can put anything before; the syntax that calls them is what is tested.
_SYNTAX = {"__getitem__": operator.getitem}
# Of equal inputs MKL's least squares give other bits from call to call.
_NOT_REPRODUCIBLE = ("linalg.lstsq",)


def _name(op):
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def _dtype(op):
    dtypes = sorted(op.supported_dtypes("cpu"), key=str)
    return torch.float32 if torch.float32 in dtypes else dtypes[0] if dtypes else None


ENTRIES = {_name(op): op for op in methods.op_db if _dtype(op) is not None and not op.name.startswith("jiterator")}
IN_PLACE = [name for name, op in ENTRIES.items() if op.inplace_variant is not None]


def _is_differentiable(op):
    return op.supports_autograd and _dtype(op).is_floating_point


def _samples(op, differentiable, seed):
    for module in (torch, random, numpy.random):
        (module.seed if module is not torch else module.manual_seed)(seed)
    return list(itertools.islice(op.sample_inputs("cpu", _dtype(op), requires_grad=differentiable), SAMPLES))


def _inputs(sample):
    return (sample.input, *sample.args), dict(sample.kwargs)


def _are_alike(a, b):
    """Whether two inputs differ in nothing but elements."""
    x, spec_x = tree_flatten(a)
    y, spec_y = tree_flatten(b)

    def same(p, q):
        if not isinstance(p, torch.Tensor) or not isinstance(q, torch.Tensor):
            return p is q or (type(p) is type(q) and p == q)
        return p.layout is q.layout is torch.strided and judging._facts(p) == judging._facts(q)
    return spec_x == spec_y and all(map(same, x, y))


def _forward(function, _):
    def step(args, kwargs, cotangents):
        with torch.no_grad():
            return function(*args, **kwargs)
    return step


def _gradients(function, chosen):
    def step(args, kwargs, cotangents):
        out = function(*args, **kwargs)
        torch.autograd.backward([t for t in tree_leaves(chosen(out)) if isinstance(t, torch.Tensor) and t.requires_grad], cotangents)
        return [t.detach() if isinstance(t, torch.Tensor) else t for t in tree_leaves(out)]
    return step


def _cotangents(function, chosen, args, kwargs, seed):
    args, kwargs = judging.copy_of((args, kwargs))
    out = [t for t in judging.tensors_of(chosen(function(*args, **kwargs))) if t.requires_grad]
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(t.shape, dtype=t.dtype, generator=generator) for t in out]


def _judge(name, make, function, samples):
    """What is refused of an operator's function, "" for nothing, or None where there is nothing to judge: eager code raises."""
    calls = []
    chosen = samples[0].output_process_fn_grad
    step = make(function, chosen)
    try:
        for i, (args, kwargs) in enumerate(map(_inputs, samples)):
            cotangents = _cotangents(function, chosen, args, kwargs, i) if make is _gradients else []
            if make is _gradients and not cotangents:
                return None
            calls.append((args, kwargs, cotangents))
            step(*judging.copy_of(calls[-1]))
    except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError):
        return None
    captured = shunt_torch.capture(step, check="never", max_recordings=3)
    # Two warm up, one is recorded, two are replayed: with other elements where they don't decide sizes.
    what = judging.compare_calls(step, captured, [calls[0]] * 3 + [calls[-1]] * 2,
                                 is_compared=lambda i: i >= 2 and not name.startswith(_NOT_REPRODUCIBLE))
    assert not what, f"{name}, {make.__name__[1:]}: {what}"
    return judging.refusal_of(captured)


def _found(name, ways):
    """What is refused of the drawn samples, each in these ways: (maker of a step, function)."""
    op = ENTRIES[name]
    samples, others = (_samples(op, _is_differentiable(op), seed) for seed in (0, 1))
    drawn = range(len(samples)) if judging.ALL else sorted(random.Random(name).sample(range(len(samples)), min(2, len(samples))))
    found = []
    # Memory that nobody has written has equal bits where it is filled.
    torch.use_deterministic_algorithms("empty" in name)
    try:
        for i in drawn:
            pair = [samples[i]]
            if len(samples) == len(others) and _are_alike(_inputs(samples[i]), _inputs(others[i])):
                pair.append(others[i])
            found += [_judge(name, make, function, pair) for make, function in ways]
    finally:
        torch.use_deterministic_algorithms(False)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENTRIES)
def test_operator(name):
    op = ENTRIES[name]
    function = _SYNTAX.get(op.name, op.op)
    found = _found(name, [(_forward, function), (_gradients, function)] if _is_differentiable(op) else [(_forward, function)])
    assert any(f is not None for f in found), "nothing was judged"
    judging.check_refusals("operators", name, filter(None, found))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", IN_PLACE)
def test_operator_in_place(name):
    judging.check_refusals("operators in place", name, filter(None, _found(name, [(_forward, ENTRIES[name].inplace_variant)])))


def test_at_least_this_much_is_captured():
    refused = judging.REFUSALS["operators"]
    assert refused.keys() <= ENTRIES.keys() and judging.REFUSALS["operators in place"].keys() <= set(IN_PLACE)
    assert len(refused) <= (1 - FLOOR) * len(ENTRIES), f"{len(refused)} of {len(ENTRIES)}"
