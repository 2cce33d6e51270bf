"""Capture in exact mode, judged by PyTorch's table of optimisers: twenty steps of each configuration, equal to eager code to the bit.

Those that read a tensor's value in each step are refused, with advice. The list is in refusals.json, and nothing else is refused.
"""

import copy

import pytest
import torch
from torch.testing._internal.common_optimizers import _get_optim_inputs_including_global_cliquey_kwargs, optim_db

import judging
import shunt_torch

STEPS = 20
# Captured as they come or, the last three, with fused=True.
CAPTURED = ("SGD", "RMSprop", "Adadelta", "Rprop", "Muon", "Adam & fused", "AdamW & fused", "Adagrad & fused")
ADVICE = ("pass fused=True", "pass lr as a number", "use SGD, RMSprop", "it isn't supported", "only strided tensors can be captured")


def _configurations():
    for info in optim_db:
        # A differentiable step writes leaves that require grad, which eager code refuses.
        inputs = _get_optim_inputs_including_global_cliquey_kwargs("cpu", torch.float32, info, skip=("differentiable",))
        for config in inputs:
            what, *way = config.desc.split(" & ")
            name = " & ".join([info.optim_cls.__name__, *way])
            yield f"{name}, {what}", (info.optim_cls, config.kwargs)


ENTRIES = dict(_configurations())


class _Trained:
    """A small network, which for SparseAdam is an embedding, and the matrices of which Muon takes alone."""

    def __init__(self, optimizer, kwargs):
        torch.manual_seed(0)
        if optimizer is torch.optim.SparseAdam:
            self.model = torch.nn.Sequential(torch.nn.Embedding(8, 4, sparse=True))
        else:
            self.model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))
        parameters = [p for p in self.model.parameters() if p.dim() == 2 or optimizer is not torch.optim.Muon]
        few = {"max_iter": 4} if optimizer is torch.optim.LBFGS else {}
        self.optimizer = optimizer(parameters, **few, **copy.deepcopy(kwargs))

    def loss(self, x, y):
        self.optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(self.model(x), y)
        loss.backward()
        return loss

    def step(self, x, y):
        if isinstance(self.optimizer, torch.optim.LBFGS):
            return self.optimizer.step(lambda: self.loss(x, y)).detach()
        loss = self.loss(x, y)
        self.optimizer.step()
        return loss.detach()

    def state(self):
        return list(self.model.parameters()), [dict(s) for s in self.optimizer.state.values()]


def _inputs(is_sparse, step):
    generator = torch.Generator().manual_seed(step)
    x = torch.randint(8, (5,), generator=generator) if is_sparse else torch.randn(5, 6, generator=generator)
    return x, torch.randn(5, 4, generator=generator)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENTRIES)
def test_optimizer(name):
    optimizer, kwargs = ENTRIES[name]
    ours, theirs = _Trained(optimizer, kwargs), _Trained(optimizer, kwargs)
    captured = shunt_torch.capture(ours.step, check="never")
    for i in range(STEPS):
        what = judging.compare_calls(theirs.step, captured, [_inputs(optimizer is torch.optim.SparseAdam, i)])
        what = what or judging.difference(ours.state(), theirs.state(), "(parameters, state)")
        assert not what, f"step {i + 1}, {judging.replays_of(captured)} replays: {what}"
    judging.check_refusals("optimizers", name, filter(None, [judging.refusal_of(captured)]))


def test_the_eight_are_captured_and_others_refused_with_advice():
    refused = judging.REFUSALS["optimizers"]
    assert refused.keys() <= ENTRIES.keys()
    for name in CAPTURED:
        configurations = [n for n in ENTRIES if n.startswith(f"{name},")]
        assert configurations
        # A tensor as learning rate is read, unless by a fused step.
        assert not [n for n in configurations if n in refused and not n.lower().endswith("tensor lr")]
    for name, reasons in refused.items():
        assert all(any(advice in reason for advice in ADVICE) for reason in reasons), name
