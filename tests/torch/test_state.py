"""Python state that a captured call reads or changes: replays run no Python, so it is guarded, recorded anew, or refused."""

import collections
import enum
import itertools
import random

import pytest
import shunt_torch
import torch
from capturing import bits, check_captured, model_and_optimizer, program, recordings, refusal_of, same_as_eager, state_of

SCALE = 2.0


def helper(x):
    return x * SCALE


class Settings:
    factor = 3.0

    def __init__(self):
        self.shift = 1.0
        self.items = [1.0, 2.0]
        self.table = {"a": 1.0}
        self.inner = collections.namedtuple("Inner", "x")(5.0)

    def total(self):
        return self.shift + sum(self.items) + self.table["a"] + self.factor + self.inner.x


def run(p, calls=6):
    return [p.step(torch.ones(2)) for _ in range(calls)]


def with_settings():
    global SCALE
    SCALE, Settings.factor = 2.0, 3.0
    settings = Settings()
    return program(lambda x: helper(x) + settings.total(), settings=settings)


def rebinds_a_global(p):
    global SCALE
    SCALE += 1


CHANGES = {
    "attribute": lambda p: setattr(p.settings, "shift", 4.0),
    "list": lambda p: p.settings.items.append(7.0),
    "list's element": lambda p: p.settings.items.__setitem__(0, 9.0),
    "dict": lambda p: p.settings.table.update(a=2.0),
    "class": lambda p: setattr(type(p.settings), "factor", type(p.settings).factor + 1),
    "shadowed class attribute": lambda p: setattr(p.settings, "factor", 8.0),
    "named tuple": lambda p: setattr(p.settings, "inner", p.settings.inner._replace(x=6.0)),
    "method": lambda p: setattr(p.settings, "total", lambda: 100.0),
    "global": rebinds_a_global,
    "int for float": lambda p: setattr(p.settings, "shift", 1),
    "sign of zero": lambda p: setattr(p.settings, "shift", -0.0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_outside(change):
    def drive(p):
        before = run(p)
        CHANGES[change](p)
        return before, run(p)

    check_captured(same_as_eager(with_settings, drive), 6)


def test_schedulers_outside():
    def make():
        p = model_and_optimizer()
        p.scheduler = torch.optim.lr_scheduler.StepLR(p.optimizer, 4, 0.5)
        return p

    def drive(p):
        out = []
        for _ in range(14):
            out.append((p.step(torch.randn(5, 3)), state_of(p)))
            p.scheduler.step()
        return out

    captured = check_captured(same_as_eager(make, drive), 6)
    assert recordings(captured) == 4

    def each_call(p):
        p.scheduler = torch.optim.lr_scheduler.ExponentialLR(p.optimizer, 0.9)
        return drive(p)

    captured = same_as_eager(make, each_call, max_recordings=2)
    assert "['lr']: expected" in captured._given_up and "a tensor lr with fused=True" in captured._given_up


def test_a_tensor_as_learning_rate():
    def make():
        p = model_and_optimizer(lr=torch.tensor(0.1), fused=True)
        p.scheduler = torch.optim.lr_scheduler.ExponentialLR(p.optimizer, 0.9)
        return p

    def drive(p):
        out = []
        for _ in range(10):
            out.append((p.step(torch.randn(5, 3)), state_of(p)))
            p.scheduler.step()
        return out

    captured = check_captured(same_as_eager(make, drive), 6)
    assert recordings(captured) == 1


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)
        self.act = torch.nn.Tanh()
        self.drop = torch.nn.Dropout(0.5)
        self.norm = torch.nn.BatchNorm1d(2)
        self.power = 1.0

    def forward(self, x):
        return self.norm(self.drop(self.act(self.fc(x)))) * self.power


def of_model():
    model = Model()
    return program(lambda x: model(torch.stack([x, x * 2, -x])).detach(), model=model)


MODEL_CHANGES = {
    "eval": lambda p: p.model.eval(),
    "train of one": lambda p: p.model.drop.eval(),
    "activation": lambda p: setattr(p.model, "act", torch.nn.ReLU()),
    "probability": lambda p: setattr(p.model.drop, "p", 0.1),
    "momentum": lambda p: setattr(p.model.norm, "momentum", 0.9),
    "attribute": lambda p: setattr(p.model, "power", 2.0),
    "forward": lambda p: setattr(p.model.act, "forward", lambda x: x * 3),
    "buffer": lambda p: setattr(p.model.norm, "running_mean", torch.ones(2)),
    "no buffer": lambda p: setattr(p.model.norm, "running_mean", None) or setattr(p.model.norm, "running_var", None),
    "parametrized": lambda p: torch.nn.utils.parametrizations.weight_norm(p.model.fc),
    "class": lambda p: setattr(p.model.act, "__class__", torch.nn.Sigmoid),
}


@pytest.mark.parametrize("change", MODEL_CHANGES)
def test_changed_modules(change):
    def drive(p):
        before = run(p)
        MODEL_CHANGES[change](p)
        return before, run(p), list(p.model.buffers())

    check_captured(same_as_eager(of_model, drive), 4)


# What a call changes.

COUNTER = itertools.count()
LOSSES = []


class Counts:
    def __init__(self):
        self.n = 0
        self.last = None


def counts(state, x):
    state.n += 1
    return x * 2


def keeps_a_tensor(state, x):
    state.last = x * 2
    return x * 2


def keeps_losses(state, x):
    LOSSES.append(float(x.shape[0]))
    return x * 2


def keeps_loss_tensors(state, x):
    LOSSES.append((x * 2).sum())
    return x * 2


def counts_by_iterator(state, x):
    return x * (next(COUNTER) + 1)


def draws_in_python(state, x):
    return x * random.random()


def rebinds(state, x):
    global SCALE
    SCALE = SCALE + 1.0
    return x * SCALE


def caches(state, x, cache={}):
    if "y" not in cache:
        cache["y"] = x.clone()
    return x * 2


def steps_a_scheduler(state, x):
    state.scheduler.step()
    return x * state.scheduler.get_last_lr()[0]


REFUSED = {
    counts: "the call changes state.n from",
    keeps_a_tensor: "state.last",
    keeps_losses: "the call changes len(LOSSES) from",
    keeps_loss_tensors: "len(LOSSES)",
    counts_by_iterator: "COUNTER: an iterator remembers its position",
    draws_in_python: "calls random.Random.random",
    rebinds: "the call changes global SCALE",
    steps_a_scheduler: "the call changes state.scheduler",
}


@pytest.mark.parametrize("step", REFUSED)
def test_refused(step):
    global SCALE
    SCALE = 2.0
    state = Counts()
    state.scheduler = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch.ones(1, requires_grad=True)], 1.0), 1, 0.5)
    reason = refusal_of(lambda x: step(state, x), torch.ones(2))
    assert REFUSED[step] in reason, reason


def test_effects_of_refused_calls_are_there_once():
    LOSSES.clear()
    captured = shunt_torch.capture(lambda x: keeps_losses(None, x))
    for _ in range(10):
        captured(torch.ones(2))
    assert len(LOSSES) == 10


def test_a_cache_filled_in_warm_up():
    def drive(p):
        return [p.step(torch.full((2,), float(i))) for i in range(8)]

    check_captured(same_as_eager(lambda: program(lambda x, cache={}: caches(None, x, cache)), drive), 4)


# Branches of later calls.


def test_a_branch_that_warm_up_has_not_seen():
    def drive(p):
        out = []
        for i in range(12):
            p.flag.on = i in (2, 3, 8)
            out.append(p.step(torch.ones(2)))
        return out

    def make():
        flag = Settings()
        flag.on = False

        def other(x):
            return helper(x) - 1

        return program(lambda x: other(x) if flag.on else x + 1, flag=flag)

    captured = check_captured(same_as_eager(make, drive), 3)
    assert recordings(captured) == 2


def test_a_branch_seen_by_the_third_call_first_is_recorded_later():
    calls = []

    def other(x):
        return x - 1

    flag = Settings()
    flag.on = False
    captured = shunt_torch.capture(lambda x: other(x) if flag.on else x + 1)
    for i in range(8):
        flag.on = i >= 2
        calls.append(bits(captured(torch.ones(2))))
    assert calls[:2] == [bits(torch.full((2,), 2.0))] * 2 and calls[2:] == [bits(torch.zeros(2))] * 6
    check_captured(captured, 2)


# Kinds of arguments.

Pair = collections.namedtuple("Pair", "a b")


def test_arguments_of_all_kinds():
    def step(batch, scale, *rest, mode="add", flags=(True, None), **more):
        x = batch["x"] * scale
        x = x + batch["pair"].a if mode == "add" else x - batch["pair"].b[0]
        for r in rest:
            x = x + r
        return Pair(x, {"flags": flags, "sum": x.sum(), "mode": mode, "more": [*more.values()]})

    def drive(p):
        out = []
        for i in range(24):
            batch = {"x": torch.randn(2), "pair": Pair(torch.randn(2), [torch.randn(2)])}
            kind = i // 6
            if kind == 0:
                out.append(p.step(batch, 2))
            elif kind == 1:
                out.append(p.step(batch, 2.0, torch.ones(2), mode="sub"))
            elif kind == 2:
                out.append(p.step(batch, scale=True, y=torch.zeros(1)))
            else:
                out.append(p.step(batch, torch.tensor(3.0), 1, flags=(False, "s", torch.float32, 1 + 2j)))
        return out

    captured = check_captured(same_as_eager(lambda: program(step), drive), 12)
    assert recordings(captured) == 4


class Scaled(collections.namedtuple("Scaled", "x")):
    factor = 2.0

    def value(self):
        return self.x * self.factor


class Mode(enum.Enum):
    UP = 1


def test_classes_of_arguments():
    def drive(p):
        Scaled.factor = Mode.shift = 2.0
        out = [p.step(Scaled(torch.ones(2)), Mode.UP) for _ in range(6)]
        Scaled.factor = 3.0
        out += [p.step(Scaled(torch.ones(2)), Mode.UP) for _ in range(6)]
        Mode.shift = 5.0
        return out + [p.step(Scaled(torch.ones(2)), Mode.UP) for _ in range(6)]

    captured = check_captured(same_as_eager(lambda: program(lambda s, m: s.value() + m.shift), drive), 8)
    assert recordings(captured) == 3


def test_objects_as_arguments():
    def drive(p):
        models = [torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)]
        return [p.step(models[i // 5 % 2], torch.randn(2)) for i in range(20)]

    captured = check_captured(same_as_eager(lambda: program(lambda m, x: m(x).detach()), drive), 8)
    assert recordings(captured) == 2


def test_methods():
    class Agent:
        def __init__(self, w):
            self.w = torch.full((2,), w)

        @shunt_torch.capture
        def act(self, x):
            return x * self.w

    agents = [Agent(1.0), Agent(2.0)]
    for i in range(16):
        assert agents[i % 2].act(torch.ones(2)).tolist() == [i % 2 + 1.0] * 2
    assert [recordings(agent.act) for agent in agents] == [1, 1] and recordings(Agent.act) == 0


def test_what_a_call_adds_to_a_dict_is_named():
    seen = {"a": 1}

    def step(x):
        seen["b" * len(seen)] = 2
        return x * 2

    assert "the call changes keys of seen, adds 'b" in refusal_of(step, torch.ones(2), calls=8)
