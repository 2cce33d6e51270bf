"""Capture in exact mode, judged by PyTorch's table of operators: forward, gradients and in place, equal to eager code
to the bit.

Of each entry two drawn samples, with SHUNT_TEST_LONG=1 all. What is refused has to be in refusals.json, and nothing else.
"""

import pytest
import torch
from torch.utils._pytree import tree_flatten

import judging
import shunt_torch
from operator_samples import (ENTRIES, IN_PLACE, drawn, forward, function_of, gradients, inputs_of, is_differentiable, samples_of,
                              step_and_calls)

FLOOR = 0.95
# Of equal inputs MKL's least squares give other bits from call to call.
_NOT_REPRODUCIBLE = ("linalg.lstsq",)


def _are_alike(a, b):
    """Whether two inputs differ in nothing but elements."""
    x, spec_x = tree_flatten(a)
    y, spec_y = tree_flatten(b)

    def same(p, q):
        if not isinstance(p, torch.Tensor) or not isinstance(q, torch.Tensor):
            return p is q or (type(p) is type(q) and p == q)
        return p.layout is q.layout is torch.strided and judging._facts(p) == judging._facts(q)
    return spec_x == spec_y and all(map(same, x, y))


def _judge(name, make, function, samples):
    """What is refused of an operator's function, "" for nothing, or None where there is nothing to judge."""
    judged = step_and_calls(make, function, samples)
    if judged is None:
        return None
    step, calls = judged
    captured = shunt_torch.capture(step, check="never", max_recordings=3)
    # Two warm up, one is recorded, two are replayed: with other elements where they don't decide sizes.
    what = judging.compare_calls(step, captured, [calls[0]] * 3 + [calls[-1]] * 2,
                                 is_compared=lambda i: i >= 2 and not name.startswith(_NOT_REPRODUCIBLE))
    assert not what, f"{name}, {make.__name__}: {what}"
    return judging.refusal_of(captured)


def _found(name, ways):
    """What is refused of the drawn samples, each in these ways: (maker of a step, function)."""
    op = ENTRIES[name]
    samples, others = samples_of(op, 0), samples_of(op, 1)
    found = []
    # Memory that nobody has written has equal bits where it is filled.
    torch.use_deterministic_algorithms("empty" in name)
    try:
        for i in drawn(name, samples):
            pair = [samples[i]]
            if len(samples) == len(others) and _are_alike(inputs_of(samples[i]), inputs_of(others[i])):
                pair.append(others[i])
            found += [_judge(name, make, function, pair) for make, function in ways]
    finally:
        torch.use_deterministic_algorithms(False)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENTRIES)
def test_operator(name):
    function = function_of(ENTRIES[name])
    found = _found(name, [(forward, function), (gradients, function)] if is_differentiable(ENTRIES[name]) else [(forward, function)])
    assert any(f is not None for f in found), "nothing was judged"
    judging.check_refusals("operators", name, filter(None, found))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", IN_PLACE)
def test_operator_in_place(name):
    judging.check_refusals("operators in place", name, filter(None, _found(name, [(forward, ENTRIES[name].inplace_variant)])))


def test_at_least_this_much_is_captured():
    refused = judging.REFUSALS["operators"]
    assert refused.keys() <= ENTRIES.keys() and judging.REFUSALS["operators in place"].keys() <= set(IN_PLACE)
    assert len(refused) <= (1 - FLOOR) * len(ENTRIES), f"{len(refused)} of {len(ENTRIES)}"
