"""What the tests of capture() share: the same program run twice, eagerly and captured, and compared to the bit."""

import warnings
from types import SimpleNamespace

import torch

import shunt_torch


def bits(value):
    """Tensors as what tells them apart; containers of them by element; all else as it is."""
    if isinstance(value, torch.Tensor):
        t = value.detach().resolve_conj().resolve_neg()
        data = t.contiguous().reshape(-1).view(torch.uint8).tolist()
        return ("tensor", type(value).__name__, str(t.dtype), tuple(t.shape), t.stride(), value.requires_grad, value.is_inference(), data)
    if isinstance(value, dict):
        return {k: bits(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(bits, value)]
    return value


def state_of(p):
    """Parameters, buffers, grads and the optimiser's state of a program made of a model and an optimiser."""
    tensors = [*p.model.parameters(), *p.model.buffers()]
    optimizer = p.optimizer.state_dict() if getattr(p, "optimizer", None) is not None else None
    return bits([tensors, [t.grad for t in tensors], optimizer])


def model_and_optimizer(**options):
    """A model of two layers, SGD with momentum, and a training step with them."""
    p = SimpleNamespace(scale=1.0)
    p.model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    p.optimizer = torch.optim.SGD(p.model.parameters(), **{"lr": 0.1, "momentum": 0.9, **options})

    def step(x):
        p.optimizer.zero_grad()
        loss = p.model(x).pow(2).mean() * p.scale
        loss.backward()
        p.optimizer.step()
        return loss.detach()

    p.step = step
    return p


def regression(model, optimizer):
    """A training step of a model."""
    def step(x, y):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def same_as_eager(make, drive, **options):
    """Runs `drive(make())` twice, with `step` of what make() gives captured and not. Its results, any structure of tensors, have to be
    the same to the bit, and so has the generator. Returns the captured step."""
    results = []
    for is_captured in (False, True):
        torch.manual_seed(0)
        p = make()
        if is_captured:
            p.step = captured = shunt_torch.capture(p.step, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append((bits(drive(p)), bits(torch.get_rng_state())))
    assert results[1] == results[0]
    return captured


def replays(captured):
    return sum(r.runs for r in captured._recordings)


def recordings(captured):
    return len(captured._recordings)


def check_captured(captured, least_replays=1, given_up=""):
    """That the step was captured, and that checks found nothing; `given_up`: a part of why nothing more is recorded."""
    assert recordings(captured) > 0 and "gave other values" not in captured._given_up, captured.explain()
    assert given_up in captured._given_up if given_up else not captured._given_up, captured.explain()
    assert replays(captured) >= least_replays, captured.explain()
    return captured


def refusal_of(step, *args, calls=4, **options):
    """Why a step isn't captured, after some calls with the same arguments."""
    captured = shunt_torch.capture(step, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(calls):
            captured(*args)
    assert recordings(captured) == 0, captured.explain()
    return captured._given_up or str(captured._refusal)


def program(step, **names):
    return SimpleNamespace(step=step, **names)


def answers(step, change, x=None, calls=5):
    """What the captured step and the step itself give after the change."""
    x = torch.ones(2) if x is None else x
    captured = shunt_torch.capture(step, check="never")
    for _ in range(calls):
        captured(x)
    assert replays(captured) > 0, captured.explain()
    change()
    return bits(captured(x)), bits(step(x))


def assert_noticed(step, change, x=None):
    before = bits(step(torch.ones(2) if x is None else x))
    got, expected = answers(step, change, x)
    assert got == expected != before
