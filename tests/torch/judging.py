"""What the judges of capture share: equal copies of inputs, comparison to the bit, and the file of refusals."""

import json
import os
import re
from pathlib import Path

import torch
from torch.utils._pytree import tree_flatten

import shunt_torch
from copying import ALL, copy_of, set_seed, tensors_of  # noqa: F401  for judges

REFUSALS = json.loads(Path(__file__).with_name("refusals.json").read_text())


def check_refusals(judge, entry, reasons):
    """Fails where the refusals of an entry aren't those of refusals.json. SHUNT_TORCH_REFUSALS names a file to which they are written
    instead, a line each, for making the list anew."""
    found = sorted(set(reasons))
    if "SHUNT_TORCH_REFUSALS" in os.environ:
        with open(os.environ["SHUNT_TORCH_REFUSALS"], "a", encoding="utf-8") as file:
            file.write(json.dumps([judge, ALL, entry, found]) + "\n")
    elif ALL:
        listed = REFUSALS[judge].get(entry, []) + REFUSALS["other samples"].get(judge, {}).get(entry, [])
        assert not set(found) - set(listed), "refusals.json doesn't have these"
    else:
        assert found == REFUSALS[judge].get(entry, []), "refusals.json says otherwise"


def difference(ours, theirs, path="result", versions=False):
    """The first place at which two results, or the grads of tensors in them, aren't the same to the bit; "" where they are.
    `versions`: how often each was written counts, too; of what a call makes it doesn't."""
    a, spec_a = tree_flatten(ours)
    b, spec_b = tree_flatten(theirs)
    if spec_a != spec_b:
        return f"{path}: structure {spec_a} for {spec_b}"
    for i, (x, y) in enumerate(zip(a, b)):
        if type(x) is not type(y):
            return f"{path}[{i}]: a {type(x).__name__} for a {type(y).__name__}"
        what = _difference_of_tensors(x, y, versions) if isinstance(x, torch.Tensor) else _difference_of_values(x, y)
        if what:
            return f"{path}[{i}]: {what}"
    sharing = _sharing(a), _sharing(b)
    return "" if sharing[0] == sharing[1] else f"{path}: memory is shared as {sharing[0]} for {sharing[1]}"


def _difference_of_values(x, y):
    return "" if x is y or shunt_torch._C.same_value(x, y) or x == y else f"{x!r} for {y!r}"


def _difference_of_tensors(x, y, versions=False):
    if _facts(x) != _facts(y):
        return f"{_facts(x)} for {_facts(y)}"
    if versions and x._version != y._version:
        return f"version {x._version} for {y._version}"
    if x.layout is not torch.strided:
        return "" if torch.equal(x.to_dense(), y.to_dense()) else "elements"
    if _bytes(x) != _bytes(y):
        return f"elements {x!r} for {y!r}"
    if not x.is_leaf or x.grad is y.grad is None:
        return ""
    if x.grad is None or y.grad is None:
        return "no grad for one" if x.grad is None else "a grad for none"
    what = _difference_of_tensors(x.grad, y.grad)
    return what and f"grad: {what}"


def _facts(t):
    strided = t.layout is torch.strided
    return (t.dtype, tuple(t.shape), t.layout, t.requires_grad, t.is_leaf, t.is_conj(), t.is_neg(),
            *((t.stride(), t.storage_offset()) if strided else ()))


def _bytes(t):
    """Its elements, with one NaN for all: where both operands are one, IEEE 754 leaves open which of them is the result."""
    t = torch.empty(t.shape, dtype=t.dtype).copy_(t.detach()).reshape(-1)
    if t.is_complex():
        t = torch.view_as_real(t).reshape(-1)
    if t.dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        t.masked_fill_(t != t, torch.nan)
    return t.view(torch.uint8).numpy().tobytes()


def _sharing(leaves):
    """For each tensor the first of them that is the same object, and the first over the same storage."""
    tensors = [x for x in leaves if isinstance(x, torch.Tensor) and x.layout is torch.strided]
    objects, storages = [id(t) for t in tensors], [t.untyped_storage()._cdata for t in tensors]
    return [(objects.index(o), storages.index(s)) for o, s in zip(objects, storages)]


def compare_calls(step, captured, calls, seed=0, is_compared=lambda call: True):
    """Calls both with equal inputs and generators; the first difference of results, inputs and generators, or ""."""
    for i, call in enumerate(calls):
        theirs, ours = copy_of(call), copy_of(call)
        set_seed(seed + i)
        expected = step(*theirs)
        generator = torch.get_rng_state()
        set_seed(seed + i)
        got = captured(*ours)
        if not is_compared(i):
            continue
        what = difference((got, ours), (expected, theirs), "(result, inputs)") or difference(ours, theirs, "inputs", versions=True)
        if not what and not torch.equal(generator, torch.get_rng_state()):
            what = "the generator's state"
        if what:
            return f"call {i + 1}, after {replays_of(captured)} replays: {what}"
    return ""


def replays_of(captured):
    return sum(recording.runs for recording in captured._recordings)


# Calls that run as they are, besides those that are recorded. Some first make what later calls find.
_WARM_UP = 6


def refusal_of(captured):
    """Why a captured function isn't replayed, without the lines and numbers that differ from run to run; "" where it is."""
    if replays_of(captured) and captured._eager <= _WARM_UP + len(captured._recordings):
        return ""
    refusal = captured._refusal
    reason = refusal.reason if refusal is not None else captured._given_up or f"no guard holds: {captured._misses[-1:]}"
    return re.sub(r"(?<![\w.])-?\d+(\.\d+)?(e[+-]?\d+)?\b", "#", reason)
