"""Capture in exact mode, judged by PyTorch's table of modules: twenty training steps of each, equal to eager code to the bit.

Of each module two drawn samples, with SHUNT_TEST_LONG=1 all. What is refused has to be in refusals.json, and nothing else.
"""

import random

import numpy
import pytest
import torch
from torch.testing._internal.common_modules import module_db
from torch.utils._pytree import tree_leaves

import judging
import shunt_torch

STEPS = 20
FLOOR = 110  # of 114
ENTRIES = {info.name: info for info in module_db}


def _seed(value):
    judging.set_seed(value)
    random.seed(value)
    numpy.random.seed(value)


def _samples(info, training):
    _seed(0)
    return list(info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=training))


class _Trained:
    """A module, its optimiser where it has parameters, and a training step."""

    def __init__(self, info, sample, training):
        _seed(1)
        constructor = sample.constructor_input
        self.module = info.module_cls(*constructor.args, **constructor.kwargs).to(torch.float32).train(training)
        parameters = [p for p in self.module.parameters() if p.requires_grad]
        self.optimizer = torch.optim.SGD(parameters, lr=1e-3, momentum=0.9) if parameters else None

    def step(self, args, kwargs):
        if self.optimizer is not None:
            self.optimizer.zero_grad()
        out = self.module(*args, **kwargs)
        terms = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor) and t.requires_grad]
        if terms:
            sum(t.abs().sum() if t.is_complex() else t.sum() for t in terms).backward()
        if self.optimizer is not None:
            self.optimizer.step()
        return [t.detach() if isinstance(t, torch.Tensor) else t for t in tree_leaves(out)]

    def state(self):
        momenta = [] if self.optimizer is None else [dict(s) for s in self.optimizer.state.values()]
        return list(self.module.parameters()), list(self.module.buffers()), momenta


def _inputs(sample, step):
    """The sample's inputs, another share of them in each step."""
    out = judging.copy_of((sample.forward_input.args, sample.forward_input.kwargs))
    with torch.no_grad():
        for t in judging.tensors_of(out):
            if t.is_floating_point() and t.layout is torch.strided:
                t.mul_(1 - step / (2 * STEPS))
    return out


def _judge(info, sample, training):
    ours, theirs = _Trained(info, sample, training), _Trained(info, sample, training)
    captured = shunt_torch.capture(ours.step, check="never")
    for i in range(STEPS):
        what = judging.compare_calls(theirs.step, captured, [_inputs(sample, i)], seed=i)
        what = what or judging.difference(ours.state(), theirs.state(), "(parameters, buffers, momenta)", versions=True)
        assert not what, f"step {i + 1}, {replays(captured)} replays: {what}"
    return judging.refusal_of(captured)


def replays(captured):
    return judging.replays_of(captured)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENTRIES)
def test_module(name):
    info = ENTRIES[name]
    found = []
    for training in (True, False):
        samples = _samples(info, training)
        count = len(samples) if judging.ALL else min(2, len(samples))
        found += [_judge(info, sample, training) for sample in random.Random(name).sample(samples, count)]
    assert found, "nothing was judged"
    judging.check_refusals("modules", name, filter(None, found))


def test_at_least_this_much_is_captured():
    refused = judging.REFUSALS["modules"]
    assert refused.keys() <= ENTRIES.keys()
    assert len(ENTRIES) - len(refused) >= FLOOR
