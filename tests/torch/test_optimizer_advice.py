"""Optimisers: those that read no values are captured, the others refused with advice."""

import pytest
import torch
from capturing import check_captured, model_and_optimizer, refusal_of, same_as_eager, state_of

OPTIM = torch.optim
CAPTURED = {
    "SGD": lambda p: OPTIM.SGD(p, 0.1),
    "SGD, momentum": lambda p: OPTIM.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "SGD, fused": lambda p: OPTIM.SGD(p, 0.1, momentum=0.9, fused=True),
    "SGD, foreach": lambda p: OPTIM.SGD(p, 0.1, momentum=0.9, foreach=True),
    "RMSprop": lambda p: OPTIM.RMSprop(p, 0.01, momentum=0.9, centered=True),
    "Adadelta": lambda p: OPTIM.Adadelta(p),
    "Rprop": lambda p: OPTIM.Rprop(p),
    "Adam, fused": lambda p: OPTIM.Adam(p, 0.01, fused=True),
    "Adam, fused, amsgrad": lambda p: OPTIM.Adam(p, 0.01, fused=True, amsgrad=True, weight_decay=0.1),
    "AdamW, fused": lambda p: OPTIM.AdamW(p, 0.01, fused=True),
    "AdamW, fused, tensor lr": lambda p: OPTIM.AdamW(p, torch.tensor(0.01), fused=True),
    "Adagrad, fused": lambda p: OPTIM.Adagrad(p, 0.01, fused=True),
    "two groups": lambda p: OPTIM.SGD([{"params": list(p)[:2], "lr": 0.5}, {"params": list(p)[2:]}], 0.1, momentum=0.5),
}


def drive(p):
    return [(p.step(torch.randn(5, 3)), state_of(p)) for _ in range(9)]


def made_with(make_optimizer):
    def make():
        p = model_and_optimizer()
        p.optimizer = make_optimizer(list(p.model.parameters()))
        return p

    return make


@pytest.mark.parametrize("name", CAPTURED)
def test_captured(name):
    check_captured(same_as_eager(made_with(CAPTURED[name]), drive), 5)


def test_muon():
    def make():
        p = model_and_optimizer()
        p.model = torch.nn.Sequential(torch.nn.Linear(3, 4, bias=False), torch.nn.Tanh(), torch.nn.Linear(4, 2, bias=False))
        p.optimizer = OPTIM.Muon(p.model.parameters(), 0.01)
        return p

    check_captured(same_as_eager(make, drive), 5)


REFUSED = {
    "Adam": (lambda p: OPTIM.Adam(p, 0.01), "Adam reads a tensor's value", "pass fused=True"),
    "AdamW": (lambda p: OPTIM.AdamW(p, 0.01), "AdamW reads a tensor's value", "pass fused=True"),
    "Adagrad": (lambda p: OPTIM.Adagrad(p, 0.01), "Adagrad reads a tensor's value", "pass fused=True"),
    "NAdam": (lambda p: OPTIM.NAdam(p), "NAdam reads a tensor's value", "with fused=True"),
    "RAdam": (lambda p: OPTIM.RAdam(p), "RAdam reads a tensor's value", "with fused=True"),
    "Adamax": (lambda p: OPTIM.Adamax(p), "Adamax reads a tensor's value", "with fused=True"),
    "ASGD": (lambda p: OPTIM.ASGD(p), "ASGD reads a tensor's value", "with fused=True"),
    "Adafactor": (lambda p: OPTIM.Adafactor(p), "Adafactor reads a tensor's value", "with fused=True"),
    "LBFGS": (lambda p: OPTIM.LBFGS(p), "LBFGS reads a tensor's value", "it isn't supported"),
    "SGD, tensor lr": (lambda p: OPTIM.SGD(p, torch.tensor(0.1)), "SGD reads a tensor's value", "fused=True"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    make_optimizer, what, advice = REFUSED[name]

    def make():
        p = made_with(make_optimizer)()
        if name == "LBFGS":

            def step(x):
                def closure():
                    p.optimizer.zero_grad()
                    loss = p.model(x).pow(2).mean()
                    loss.backward()
                    return loss

                return p.optimizer.step(closure).detach()

            p.step = step
        return p

    captured = same_as_eager(make, drive)
    reason = captured._given_up or str(captured._refusal)
    assert not captured._recordings and what in reason and advice in reason and ".py:" in reason, reason


def test_sparse_adam():
    table = torch.nn.Embedding(4, 2, sparse=True)
    optimizer = OPTIM.SparseAdam(table.parameters())

    def step(i):
        optimizer.zero_grad()
        table(i).sum().backward()
        optimizer.step()

    assert "torch.sparse_coo" in refusal_of(step, torch.tensor([1, 2]))
