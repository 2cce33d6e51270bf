"""Walks: each kind of change to Python state breaks a guard, and what doesn't matter breaks none."""

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import random
import time
import types
import weakref

import pytest
import torch
from walking import changed, changed_by_call, refusals, walk_of, watch

from shunt_torch.walk import walk

X = torch.ones(2, 3)
HERE = __file__


def global_path(name):
    return f"global {name} of {HERE}"


# Programs that change nothing.


def training_step(model, optimizer, loss_fn=torch.nn.functional.mse_loss):
    def step(x):
        optimizer.zero_grad()
        out = model(x)
        out = out[0] if isinstance(out, tuple) else out
        loss = loss_fn(out, torch.zeros_like(out))
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def fused_adam(model):
    return torch.optim.Adam(model.parameters(), fused=True)


class Custom(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)
        self.act = torch.nn.ReLU()
        self.scale = 2.0
        self.sizes = [1, 2]
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x):
        return self.act(self.fc(x) - self.mean) * self.scale + sum(self.sizes)


MODULES = {
    "linear": lambda: torch.nn.Linear(3, 3),
    "custom": Custom,
    "lstm": lambda: torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True),
    "gru cell": lambda: torch.nn.GRUCell(3, 4),
    "batch norm": lambda: torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.1)),
    "transformer": lambda: torch.nn.TransformerEncoderLayer(3, 1, 4, dropout=0.0),
    "attention": lambda: torch.nn.TransformerDecoderLayer(3, 3, 8, batch_first=True),
}


@pytest.mark.parametrize("optimizer", [sgd, fused_adam])
@pytest.mark.parametrize("name", MODULES)
def test_training_changes_nothing(name, optimizer):
    model = MODULES[name]()
    if name == "attention":
        step = training_step(lambda x: model(x, x), optimizer(model))
    else:
        step = training_step(model, optimizer(model))
    result = walk_of(step, X)
    for _ in range(3):
        step(X)
        assert changed(result) == []
    found = [t for _, t in result.tensors]
    assert all(any(p is t for t in found) for p in itertools.chain(model.parameters(), model.buffers()))
    assert len({id(t) for t in found}) == len(found)


def test_finds_the_optimizer_s_state():
    model = torch.nn.Linear(3, 3)
    step = training_step(model, sgd(model))
    paths = [p for p, _ in walk_of(step, X).tensors]
    assert "model.weight" in paths
    assert "optimizer.state[model.weight]['momentum_buffer']" in paths


def test_distributions_inside_a_step():
    loc = torch.zeros(3)

    def step(x):
        d = torch.distributions.Normal(loc, 1.0)
        return d.log_prob(x).sum() + d.rsample().sum()

    result = walk_of(step, X)
    step(X)
    assert changed(result) == []
    assert ("loc", loc) in result.tensors


def test_a_distribution_held_outside():
    prior = torch.distributions.Normal(torch.zeros(3), torch.ones(3))

    def step(x):
        return prior.log_prob(x).sum()

    result = walk_of(step, X)
    assert {"prior.loc", "prior.scale"} == {p for p, _ in result.tensors}
    prior.loc = torch.ones(3)
    assert changed(result) == ["prior.loc"]


# What changes in a call: TORCH's list of things that a replay would not do.


def test_a_scheduler_step():
    model = torch.nn.Linear(3, 3)
    optimizer = sgd(model)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    train = training_step(model, optimizer)

    def step(x):
        loss = train(x)
        scheduler.step()
        return loss

    paths = changed_by_call(step, X)
    assert "scheduler.optimizer.param_groups[0]['lr']" in paths
    assert "scheduler.last_epoch" in paths


class Counter:
    def __init__(self):
        self.n = 0
        self.losses = []

    def count(self, x):
        self.n += 1
        return x + self.n

    def append(self, x):
        self.losses.append(x.sum())
        return x

    def make(self, x):
        self.__class__ = Counter2
        return x


class Counter2(Counter):
    pass


def test_a_counted_attribute():
    assert changed_by_call(Counter().count, X) == ["step.__self__.n"]


def test_a_list_of_losses():
    assert "len(step.__self__.losses)" in changed_by_call(Counter().append, X)


def test_an_attribute_that_the_call_makes():
    class Batch:
        pass

    def step(x, batch):
        batch.loss = x.sum()
        return batch.loss

    observed = watch(step, X, Batch())
    fresh = Batch()
    result = walk([("step", step), ("batch", fresh)], observed)
    assert changed(result) == []
    step(X, fresh)
    assert changed(result) == ["batch.loss"]


def test_a_tensor_attribute_that_the_call_makes():
    def step(x):
        WEIGHT.tag = 3
        return x

    observed = watch(step, X)
    del WEIGHT.tag
    result = walk([("step", step)], observed)
    step(X)
    assert "WEIGHT.tag" in changed(result)
    del WEIGHT.tag


WEIGHT = torch.ones(3)


def test_a_function_attribute():
    def step(x):
        step.calls += 1
        return x * step.calls

    step.calls = 0
    assert changed_by_call(step, X) == ["step.calls"]


def test_a_changed_class_of_an_instance():
    counter = Counter()
    result = walk_of(counter.count, X, calls=0)
    counter.__class__ = Counter2
    assert "step.__self__.__class__" in changed(result)


TOTAL = 0


def counts_in_a_global(x):
    global TOTAL
    TOTAL += 1
    return x * TOTAL


def test_a_counted_global():
    assert changed_by_call(counts_in_a_global, X) == [global_path("TOTAL")]


def makes_a_global(x):
    global MADE
    MADE = x
    return x


def test_a_global_that_the_call_makes():
    observed = watch(makes_a_global, X)
    del globals()["MADE"]
    result = walk([("step", makes_a_global)], observed)
    makes_a_global(X)
    assert changed(result) == [global_path("MADE")]


def test_a_counted_cell():
    n = 0

    def step(x):
        nonlocal n
        n += 1
        return x * n

    assert changed_by_call(step, X) == ["closure n of step"]


# Iterators and generators.

COUNTER = itertools.count()


def test_next_of_an_iterator_held_outside():
    def step(x):
        return x * next(COUNTER)

    (reason,) = refusals(step, X)
    assert reason.startswith("COUNTER: an iterator")


@pytest.mark.parametrize(
    "make",
    [
        lambda: iter([1, 2]), lambda: iter(range(9)), lambda: (i for i in range(9)), lambda: zip([1], [2]),
        lambda: map(abs, [1]), lambda: itertools.cycle([1]), lambda: enumerate([1]), lambda: iter({1: 2}),
    ],
)  # fmt: skip
def test_iterators_are_refused(make):
    held = make()

    def step(x):
        return x if held is None else x + 1

    assert "remembers its position" in refusals(step, X)[0]


def test_generators_of_random_numbers_are_refused():
    import numpy

    for held in (random.Random(1), torch.Generator(), numpy.random.RandomState(1), numpy.random.default_rng(1)):

        def step(x, held=held):
            return x if held is None else x + 1

        assert "can't be followed" in refusals(step, X)[0] or "made in C" in refusals(step, X)[0]


def test_a_method_of_the_shared_random_generator():
    random.seed(1)

    def step(x):
        return x * random.gauss(0.0, 1.0)

    observed = watch(step, X)
    assert any("random.Random" in r.path or "generator" in r.reason for r in walk([("step", step)], observed).refusals)


# What the caller changes.


def use_float(x):
    return x * SCALE


SCALE = 2.0


@pytest.mark.parametrize("value", [3.0, 2, True, "2.0", None])
def test_a_global_number(value, monkeypatch):
    result = walk_of(use_float, X)
    monkeypatch.setitem(globals(), "SCALE", value)
    assert changed(result) == [global_path("SCALE")]


def test_an_equal_number_is_the_same(monkeypatch):
    result = walk_of(use_float, X)
    monkeypatch.setitem(globals(), "SCALE", float("2.0"))
    assert changed(result) == []


@pytest.mark.parametrize(
    "before, equal, other",
    [
        (0.0, 0.0, -0.0), (float("nan"), float("nan"), 1.0), (1, 1, 1.0), (1, 1, True), (1j, 1j, 2j), ("ab", "a" + "b", "b"),
        (b"ab", bytes([97, 98]), b"b"), (torch.float32, torch.float32, torch.float64), (slice(1, 2), slice(1, 2), slice(1, 3)),
        (torch.device("cpu"), torch.device("cpu"), torch.device("meta")), (torch.Size([1, 2]), torch.Size([1, 2]), (1, 2)),
        (range(3), range(3), range(0, 3, 2)), (range(0), range(0), range(1, 1)), (..., ..., None),
        ((1, (2.0, "a")), tuple([1, tuple([2.0, "a"])]), (1, (2, "a"))), (torch.strided, torch.strided, torch.sparse_coo),
        (torch.contiguous_format, torch.contiguous_format, torch.channels_last), ((0.0,), (0.0,), (-0.0,)),
    ],
)  # fmt: skip
def test_values(before, equal, other):
    holder = types.SimpleNamespace(value=before)

    def step(x):
        return x if holder.value is None else x + 1

    result = walk_of(step, X)
    holder.value = equal
    assert changed(result) == []
    holder.value = other
    assert changed(result) == ["holder.value"]


def test_a_rebound_loss_function():
    loss_fn = torch.nn.functional.mse_loss

    def step(x):
        return loss_fn(x, x + 1)

    result = walk_of(step, X)
    loss_fn = torch.nn.functional.l1_loss
    assert changed(result) == ["closure loss_fn of step"]


def test_an_emptied_cell():
    held = 3

    def step(x):
        return x * held

    result = walk_of(step, X)
    del held
    assert changed(result) == ["closure held of step"]


def test_a_cell_filled_later():
    def step(x):
        return x if x is not None else held

    result = walk_of(step, X)
    held = 3
    assert changed(result) == ["closure held of step"]


def make_custom():
    model = Custom()

    def step(x):
        return model(x)

    return model, step


@pytest.mark.parametrize(
    "change, path",
    [
        (lambda m: setattr(m, "act", torch.nn.Tanh()), "model.act"),
        (lambda m: setattr(m, "scale", 3.0), "model.scale"),
        (lambda m: m.eval(), "model.training"),
        (lambda m: m.sizes.append(3), "len(model.sizes)"),
        (lambda m: m.sizes.__setitem__(0, 5), "model.sizes[0]"),
        (lambda m: setattr(m, "sizes", [1, 2]), "model.sizes"),
        (lambda m: setattr(m.fc, "weight", torch.nn.Parameter(torch.ones(3, 3))), "model.fc.weight"),
        (lambda m: setattr(m.fc, "bias", None), "model.fc.bias"),
        (lambda m: setattr(m, "mean", torch.ones(3)), "model.mean"),
        (lambda m: m.load_state_dict(m.state_dict(), assign=True), "model.fc.weight"),
        (lambda m: m.register_forward_hook(lambda *a: None), "keys of model._forward_hooks"),
        (lambda m: m.fc.register_forward_pre_hook(lambda *a: None), "keys of model.fc._forward_pre_hooks"),
        (lambda m: m.fc.register_full_backward_hook(lambda *a: None), "keys of model.fc._backward_hooks"),
        (lambda m: m.register_buffer("extra", torch.ones(1)), "model._buffers"),
        (lambda m: m.add_module("extra", torch.nn.ReLU()), "model._modules"),
        (lambda m: setattr(m, "forward", lambda x: x), "attributes of model"),
        (lambda m: setattr(m, "unknown", 1), "attributes of model"),
        (lambda m: setattr(m.fc, "__class__", torch.nn.Identity), "model.fc.__class__"),
        (lambda m: m.double(), None),  # the parameter stays; the core's guards see its dtype
        (lambda m: m.train(), None),
        (lambda m: m.register_state_dict_post_hook(lambda *a: None), None),
    ],
)
def test_modules(change, path):
    model, step = make_custom()
    result = walk_of(step, X)
    change(model)
    assert (path in changed(result)) if path else changed(result) in ([], ["model.mean"])


def test_replaced_parts_of_a_sequence():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
    result = walk_of(lambda x: model(x), X)
    assert ("model[0].weight", model[0].weight) in [(p, t) for p, t in result.tensors if t is model[0].weight]
    model[1] = torch.nn.ReLU()
    assert changed(result) == ["model[1]"]


def test_global_hooks():
    _, step = make_custom()
    result = walk_of(step, X)
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *a: None)
    assert changed(result) == ["keys of torch.nn.modules.module._global_forward_hooks"]
    handle.remove()
    assert changed(result) == []


@pytest.mark.parametrize(
    "change, path",
    [
        (lambda o: o.param_groups[0].update(lr=0.2), "optimizer.param_groups[0]['lr']"),
        (lambda o: o.param_groups[0].update(extra=1), "keys of optimizer.param_groups[0]"),
        (lambda o: o.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]}), "len(optimizer.param_groups)"),
        (lambda o: o.state.clear(), "keys of optimizer.state"),
        (lambda o: o.register_step_post_hook(lambda *a: None), "keys of optimizer._optimizer_step_post_hooks"),
        (lambda o: o.load_state_dict(o.state_dict()), "optimizer.state"),
    ],
)
def test_optimizers(change, path):
    model = torch.nn.Linear(3, 3)
    optimizer = sgd(model)
    step = training_step(model, optimizer)
    result = walk_of(step, X)
    change(optimizer)
    assert path in changed(result)


# Functions.


def helper(x, factor=2.0, *, shift=1.0):
    return x * factor + shift + HELPER_OFFSET


HELPER_OFFSET = 0.5


def calls_helper(x):
    return helper(x)


def other_helper(x):
    return x


@pytest.mark.parametrize(
    "change, path",
    [
        (lambda m: m.setitem(globals(), "HELPER_OFFSET", 1.5), global_path("HELPER_OFFSET")),
        (lambda m: m.setattr(helper, "__defaults__", (3.0,)), "defaults of helper"),
        (lambda m: m.setitem(helper.__kwdefaults__, "shift", 3.0), "keyword defaults of helper['shift']"),
        (lambda m: m.setattr(helper, "__kwdefaults__", {"shift": 1.0}), "keyword defaults of helper"),
        (lambda m: m.setattr(helper, "__code__", other_helper.__code__), "helper.__code__"),
        (lambda m: m.setitem(globals(), "helper", other_helper), global_path("helper")),
    ],
)
def test_helpers(change, path, monkeypatch):
    result = walk_of(calls_helper, X)
    assert helper.__code__ in result.functions
    with monkeypatch.context() as m:
        change(m)
        assert changed(result) == [path]
    assert changed(result) == []


def test_an_equal_default_is_the_same(monkeypatch):
    result = walk_of(calls_helper, X)
    monkeypatch.setattr(helper, "__defaults__", tuple([2.0]))
    assert changed(result) == []


def test_mutable_defaults():
    def step(x, seen=[]):  # noqa: B006
        seen.append(1)
        return x * len(seen)

    assert "len(default seen of step)" in changed_by_call(step, X)


def test_a_function_that_has_not_run_is_its_identity():
    def never(x):
        return x * COUNTER.__doc__

    def step(x):
        return x if x is not None else never(x)

    assert never.__code__ not in walk_of(step, X).functions


def test_shadowed_and_replaced_builtins(monkeypatch):
    import builtins

    def step(x):
        return x * len([1])

    result = walk_of(step, X)
    with monkeypatch.context() as m:
        m.setitem(globals(), "len", lambda x: 3)
        assert changed(result) == [global_path("len")]
    with monkeypatch.context() as m:
        m.setattr(builtins, "len", lambda x: 3)
        assert changed(result) == ["built-in len"]


def test_partials():
    weight = torch.ones(3)
    step = functools.partial(lambda x, w, scale: x * w * scale, w=weight, scale=2.0)
    result = walk_of(step, X)
    assert weight in [t for _, t in result.tensors if t is weight]
    step.keywords["scale"] = 3.0
    assert changed(result) == ["step.keywords['scale']"]


def test_a_partial_of_a_C_function_that_is_not_allowed():
    clock = functools.partial(time.time)

    def step(x):
        return x * clock()

    assert any("time.time" in r for r in refusals(step, X))


def test_a_C_function_passed_on_is_refused():
    def step(x):
        return x * len(list(map(print, [])))

    assert any(r.startswith("print: ") for r in refusals(step, X))


def test_wrappers_of_functools_and_of_torch():
    weight = torch.ones(3)

    def inner(x):
        return x * weight

    @functools.wraps(inner)
    def wrapped(*args):
        return inner(*args)

    for step in (wrapped, torch.no_grad()(inner), torch.inference_mode()(wrapped)):
        result = walk_of(step, X)
        assert any(t is weight for _, t in result.tensors)
        assert inner.__code__ in result.functions


def test_a_captured_callable_is_walked_into():
    weight = torch.ones(3)

    def inner(x):
        return x * weight

    class Captured:
        def __init__(self, f):
            self.__wrapped__ = f

        def __call__(self, x):
            return self.__wrapped__(x)

    Captured.__module__ = "shunt_torch.captured"
    result = walk_of(Captured(inner), X)
    assert any(t is weight for _, t in result.tensors)


def test_a_cache_is_refused():
    cached = functools.lru_cache(lambda n: torch.ones(n))

    def step(x):
        return x * cached(3)

    assert "lru_cache" in refusals(step, X)[0]


def lost_closure():
    """A function that only an unwalked attribute leads to."""
    weight = torch.ones(3)

    def hidden(x):
        return x * weight

    return hidden


def test_a_closure_that_the_walk_cannot_find_is_refused():
    hidden = lost_closure()
    observed = watch(lambda x: hidden(x), X)
    reasons = walk([("step", lambda x: x)], observed).refusals
    assert any("reads weight from a closure that can't be found" in r.reason for r in reasons)


def test_globals_of_a_function_that_the_walk_cannot_find(monkeypatch):
    observed = watch(lambda x: use_float(x), X)
    result = walk([("step", len)], observed)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert changed(result) == [global_path("SCALE")]


# Instances and classes.


class Trainer:
    factor = 2.0
    history = []

    def __init__(self):
        self.model = torch.nn.Linear(3, 3)
        self.optimizer = sgd(self.model)
        self.config = types.SimpleNamespace(scale=1.0, names=["a"], unread=0)
        self.unread = object()

    @property
    def scale(self):
        return self.config.scale * self.factor

    @staticmethod
    def loss(y):
        return y.square().mean()

    def helper(self, y):
        return self.loss(y) * self.scale + len(self.history)

    def step(self, x):
        self.optimizer.zero_grad()
        loss = self.helper(self.model(x))
        loss.backward()
        self.optimizer.step()
        return loss.detach()


class Quiet(Trainer):
    pass


@pytest.mark.parametrize(
    "change, path",
    [
        (lambda t: setattr(t.config, "scale", 3.0), "step.__self__.config.scale"),
        (lambda t: setattr(t, "config", types.SimpleNamespace(scale=1.0)), "step.__self__.config"),
        (lambda t: setattr(t, "helper", lambda y: y), "step.__self__.helper"),
        (lambda t: setattr(t, "factor", 3.0), "step.__self__.factor"),
        (lambda t: setattr(t, "__dict__", dict(t.__dict__)), "step.__self__.__dict__"),
        (lambda t: setattr(t, "model", torch.nn.Linear(3, 3)), "step.__self__.model"),
        (lambda t: setattr(t, "unread", 1), None),
        (lambda t: setattr(t, "new", 1), None),
        (lambda t: setattr(t.config, "unread", 1), None),
        (lambda t: t.config.names.append("b"), None),
    ],
)
def test_a_method_of_an_object_with_model_and_optimizer(change, path):
    trainer = Trainer()
    result = walk_of(trainer.step, X)
    change(trainer)
    assert (path in changed(result)) if path else changed(result) == []


@pytest.mark.parametrize(
    "name, value, path",
    [
        ("factor", 3.0, "Trainer.factor"),
        ("helper", lambda self, y: y, "Trainer.helper"),
        ("scale", property(lambda self: 1.0), "Trainer.scale"),
        ("loss", staticmethod(lambda y: y), "Trainer.loss"),
        ("step", lambda self, x: x, "Trainer.step"),
    ],
)
def test_class_attributes(name, value, path, monkeypatch):
    result = walk_of(Quiet().step, X)
    with monkeypatch.context() as m:
        m.setattr(Trainer, name, value)
        assert changed(result) == [path]
    with monkeypatch.context() as m:
        m.setattr(Quiet, name, value, raising=False)
        assert changed(result) == [path]


def test_containers_of_a_class(monkeypatch):
    result = walk_of(Trainer().step, X)
    with monkeypatch.context() as m:
        m.setattr(Trainer, "history", [1])
        assert changed(result) == ["Trainer.history"]
    Trainer.history.append(1)
    assert changed(result) == ["len(Trainer.history)"]
    Trainer.history.clear()


def test_a_class_as_a_value(monkeypatch):
    class Config:
        lr = 0.1
        unread = 3

    def step(x):
        return x * Config.lr

    result = walk_of(step, X)
    Config.unread = 4
    assert changed(result) == []
    Config.lr = 0.2
    assert any(p.endswith("Config.lr") for p in changed(result))


def test_methods_of_user_modules(monkeypatch):
    model, step = make_custom()
    result = walk_of(step, X)
    with monkeypatch.context() as m:
        m.setattr(Custom, "forward", lambda self, x: x)
        assert changed(result) == ["Custom.forward"]


class Money:
    def __init__(self, n):
        self.n = n

    def __mul__(self, x):
        return x * self.n


def test_special_methods(monkeypatch):
    money = Money(2)

    def step(x):
        return money * x

    result = walk_of(step, X)
    monkeypatch.setattr(Money, "__mul__", lambda self, x: x)
    assert changed(result) == ["Money.__mul__"]


def test_a_metaclass(monkeypatch):
    class Meta(type):
        @property
        def scale(cls):
            return 2.0

    class Uses(metaclass=Meta):
        pass

    def step(x):
        return x * Uses.scale

    result = walk_of(step, X)
    Meta.scale = property(lambda cls: 3.0)
    assert len(changed(result)) == 1


class Slots:
    __slots__ = ("scale", "unset", "unread")

    def __init__(self):
        self.scale = 2.0
        self.unread = 0


def test_slots():
    held = Slots()

    def step(x):
        return x * held.scale if not hasattr(held, "unset") else x

    result = walk_of(step, X)
    held.unread = 1
    assert changed(result) == []
    held.unset = 3
    assert changed(result) == ["held.unset"]
    held.scale = 3.0
    assert changed(result) == ["held.scale", "held.unset"]


@dataclasses.dataclass
class Data:
    scale: float
    names: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    data: Data


def test_dataclasses():
    held = Frozen(Data(2.0))

    def step(x):
        return Frozen(Data(1.0)).data.scale + x * held.data.scale + len(held.data.names)

    result = walk_of(step, X)
    held.data.names.append("a")
    assert changed(result) == ["len(held.data.names)"]
    held.data.scale = 3.0
    assert "held.data.scale" in changed(result)


def test_dataclasses_replaced():
    held = Data(2.0)

    def step(x):
        return dataclasses.replace(held, scale=3.0).scale * x + len(dataclasses.asdict(held)["names"])

    result = walk_of(step, X)
    held.names.append("a")
    assert changed(result) == ["len(held.names)"]


Pair = collections.namedtuple("Pair", "first second")


def test_named_tuples():
    held = types.SimpleNamespace(pair=Pair(torch.ones(3), [1]))

    def step(x):
        return x * held.pair.first + held.pair.second[0]

    result = walk_of(step, X)
    assert ("held.pair[0]", held.pair.first) in [p for p in result.tensors if p[1] is held.pair.first]
    held.pair.second[0] = 2
    assert changed(result) == ["held.pair[1][0]"]
    held.pair = Pair(*held.pair)
    assert "held.pair" in changed(result)


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2

    def factor(self):
        return 2.0 if self is Mode.FAST else 3.0


class Tagged(enum.Enum):
    A = [1]


def test_enums(monkeypatch):
    held = types.SimpleNamespace(mode=Mode.FAST)

    def step(x):
        return x * held.mode.factor() * held.mode.value

    result = walk_of(step, X)
    with monkeypatch.context() as m:
        m.setattr(Mode, "factor", lambda self: 1.0)
        assert changed(result) == ["Mode.factor"]
    held.mode = Mode.SLOW
    assert changed(result) == ["held.mode"]


def test_the_list_in_an_enum():
    def step(x):
        return x * Tagged.A.value[0]

    result = walk_of(step, X)
    Tagged.A.value.append(2)
    assert any(p.startswith("len(") for p in changed(result))
    Tagged.A.value.pop()


def nest(depth):
    outer = inner = types.SimpleNamespace()
    for _ in range(depth):
        inner.a = types.SimpleNamespace()
        inner = inner.a
    inner.scale = 2.0
    return outer, inner


def test_depth():
    outer, inner = nest(4)

    def step(x):
        return x * outer.a.a.a.a.scale

    result = walk_of(step, X)
    inner.scale = 3.0
    assert changed(result) == ["outer.a.a.a.a.scale"]


def test_deeper_is_refused():
    outer, _ = nest(5)

    def step(x):
        return x * outer.a.a.a.a.a.scale

    assert "deeper than 4" in refusals(step, X)[0]


def test_deeper_is_allowed_where_nothing_is_named():
    outer, _ = nest(5)
    outer.a.a.a.a.a = types.SimpleNamespace(unread=1)

    def step(x):
        return x if outer.a is not None else x + 1

    walk_of(step, X)


def test_modules_below_deep_objects_and_the_other_way_round():
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(3, 3))) for _ in range(2)])
    outer, inner = nest(3)
    inner.model = model
    step = eval("lambda x: outer.a.a.a.model(x)", {"outer": outer})
    result = walk_of(step, X)
    assert len(result.tensors) == 4


def test_attributes_by_computed_names():
    held = types.SimpleNamespace(n0=1.0, n1=2.0)

    def step(x):
        return x * sum(getattr(held, "n" + str(i)) for i in range(2))

    result = walk_of(step, X)
    held.n1 = 3.0
    assert changed(result) == ["held.n1"]
    held.n2 = 3.0
    assert "attributes of held" in changed(result)


def test_an_attribute_that_hasattr_does_not_find():
    held = types.SimpleNamespace()

    def step(x):
        return x * (2 if hasattr(held, "flag") else 3)

    result = walk_of(step, X)
    held.flag = 1
    assert changed(result) == ["held.flag"]


def test_cached_properties():
    class Lazy:
        @functools.cached_property
        def weight(self):
            return torch.ones(3)

    held = Lazy()

    def step(x):
        return x * held.weight

    result = walk_of(step, X)
    assert any(t is held.weight for _, t in result.tensors)
    assert changed(result) == []
    fresh = Lazy()
    held = fresh  # the closure's cell
    assert changed(result) == ["closure held of step"]


def test_attributes_of_tensors():
    weight = torch.nn.Parameter(torch.ones(3))
    weight.scale = 2.0

    def step(x):
        return x * weight * weight.scale

    result = walk_of(step, X)
    weight.unread = 1
    assert changed(result) == []
    weight.scale = 3.0
    assert changed(result) == ["weight.scale"]


# Containers.


@pytest.mark.parametrize(
    "make, change, path",
    [
        (lambda: {"a": 1, "b": 2}, lambda d: d.update(a=3), "held['a']"),
        (lambda: {"a": 1, "b": 2}, lambda d: d.update(c=3), "keys of held"),
        (lambda: {"a": 1, "b": 2}, lambda d: d.update(a=d.pop("a")), "keys of held"),  # order
        (lambda: {"a": 1, "b": 2}, lambda d: d.update(a=1), None),
        (lambda: {1: 1}, lambda d: (d.clear(), d.update({True: 1})), "keys of held"),
        (lambda: {1: 1}, lambda d: (d.clear(), d.update({1: 1})), None),
        (lambda: collections.OrderedDict(a=1, b=2), lambda d: d.move_to_end("a"), "keys of held"),
        (lambda: collections.defaultdict(list, a=[1]), lambda d: d["a"].append(1), "len(held['a'])"),
        (lambda: collections.Counter("aab"), lambda d: d.update("a"), "held['a']"),
        (lambda: [1, [2]], lambda d: d[1].append(1), "len(held[1])"),
        (lambda: [1, 2], lambda d: d.reverse(), "held[0]"),
        (lambda: collections.deque([1, 2]), lambda d: d.rotate(), "held[0]"),
        (lambda: collections.deque([1, 2]), lambda d: d.pop(), "len(held)"),
        (lambda: {1, 2}, lambda d: d.add(3), "held"),
        (lambda: {1, 2}, lambda d: (d.remove(1), d.add(True)), "held"),
        (lambda: {1, 2}, lambda d: (d.remove(1), d.add(1)), None),
        (lambda: ([1], 2), lambda d: d[0].append(1), "len(held[0])"),
        (lambda: frozenset([1]), lambda d: None, None),
        (lambda: slice([1], None), lambda d: d.start.append(1), "len(held.start)"),
        (lambda: bytes(3), lambda d: None, None),
        (lambda: weakref.ref(Trainer), lambda d: None, None),
    ],
)
def test_containers(make, change, path):
    held = make()

    def step(x):
        return x if held is None else x + 1

    result = walk_of(step, X)
    change(held)
    assert (path in changed(result)) if path else changed(result) == []


def test_objects_as_keys_and_elements_count_by_identity():
    class Equal:
        def __eq__(self, other):
            raise AssertionError("a guard ran a user's code")

        def __hash__(self):
            return 1

    one, two = Equal(), Equal()
    held = {one: 1}, {one}

    def step(x):
        return x if held is None else x + 1

    result = walk_of(step, X)
    held[0].clear()
    held[0][two] = 1
    held[1].clear()
    held[1].add(two)
    guards = [g for g in result.guards if g.kind in ("keys", "set")]
    assert {"keys of held[0]", "held[1]"} == set(changed(result._replace(guards=guards)))


def test_long_containers_are_refused():
    held = [0] * 20_000

    def step(x):
        return x + held[0]

    assert "20000 elements" in refusals(step, X)[0]


def test_a_cycle():
    held = []
    held.append(held)

    def step(x):
        return x + len(held)

    assert changed_by_call(step, X) == []


def test_subclasses_of_containers():
    class Named(dict):
        scale = 2.0

    held = Named(a=1)
    held.factor = 3.0

    def step(x):
        return x * held["a"] * held.scale * held.factor

    result = walk_of(step, X)
    held.factor = 4.0
    held["a"] = 2
    assert changed(result) == ["held['a']", "held.factor"]


def test_a_weak_reference_keeps_its_target():
    target = Money(2)
    held = weakref.ref(target)

    def step(x):
        return x * held().n

    result = walk_of(step, X)
    target.n = 3
    assert changed(result) == ["held().n"]
    del target
    assert held() is not None


# Extension types and NumPy.


def test_numpy_arrays_are_refused():
    import numpy

    held = numpy.zeros(3)

    def step(x):
        return x + held[0]

    assert "NumPy array" in refusals(step, X)[0]


def test_numpy_scalars_and_dtypes_are_constants():
    import numpy

    held = [numpy.float64(2.0), numpy.dtype("f8")]

    def step(x):
        return x * float(held[0])

    result = walk_of(step, X)
    held[0] = numpy.float64(3.0)
    assert changed(result) == ["held[0]"]


def test_numpy_functions_that_no_profiler_sees_are_refused():
    import numpy as np

    def step(x):
        return x * np.sin(1.0)

    def allowed(x):
        return x if isinstance(x, np.ndarray) else x + 1

    assert any(".sin: calls into C code" in r for r in refusals(step, X))
    assert refusals(allowed, X) == []


def test_numpy_functions_of_a_global_module(monkeypatch):
    import numpy

    scope = {"np": numpy}
    exec("def step(x):\n  return x * np.random.rand()\ndef allowed(x):\n  return x.sin() if isinstance(x, np.ndarray) else x", scope)
    assert any(r.startswith("np.random.rand: ") for r in refusals(scope["step"], X))
    assert refusals(scope["allowed"], X) == []


def test_extension_types_are_refused():
    import array
    import threading

    for held in (array.array("f", [1.0]), threading.Lock(), memoryview(b"a"), bytearray(3), types.MappingProxyType({}), open(HERE)):

        def step(x, held=held):
            return x if held is None else x + 1

        assert "made in C" in refusals(step, X)[0] or "position" in refusals(step, X)[0]


class WithGenerator(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)
        self.rng = [random.Random(1)]
        self.log = iter([])

    def forward(self, x):
        return self.fc(x)


class UsesGenerator(WithGenerator):
    def forward(self, x):
        return self.fc(x) if self.rng else x


def test_what_nobody_reads_of_a_module_may_be_unwalkable():
    assert refusals(WithGenerator(), X) == []


def test_what_code_names_of_a_module_may_not():
    assert ["step.rng[0]"] == [r.partition(":")[0] for r in refusals(UsesGenerator(), X)]


def test_an_object_met_first_where_nobody_reads_it():
    model = WithGenerator()
    shared = model.rng

    def step(x):
        return model(x) + len(shared)

    assert any("generator" in r for r in refusals(step, X))


def test_an_unreadable_attribute_replaced():
    model = WithGenerator()
    result = walk_of(model, X)
    model.log = iter([])
    assert changed(result) == ["step.log"]


def test_scripted_modules_are_refused():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.jit.trace(torch.nn.Linear(3, 3), X)

    def step(x):
        return x if model is None else x + 1

    assert "scripted" in refusals(step, X)[0]


def test_traced_graphs_of_fx():
    model, _ = make_custom()
    traced = torch.fx.symbolic_trace(model)
    result = walk_of(traced, X)
    traced.fc = torch.nn.Linear(3, 3)
    assert "step.fc" in changed(result)


# Python modules.


@pytest.fixture
def user_module(monkeypatch, tmp_path):
    import sys

    (tmp_path / "settings_of_test.py").write_text(
        "import itertools\nSCALE = 2.0\nUNREAD = itertools.count()\ndef scale(x):\n    return x * SCALE\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import settings_of_test

    yield settings_of_test
    sys.modules.pop("settings_of_test")


def test_user_modules(user_module):
    scope = {"settings": user_module}
    exec("def step(x):\n  return settings.scale(x) * settings.SCALE", scope)
    result = walk_of(scope["step"], X)
    user_module.UNREAD = 3
    assert changed(result) == []
    user_module.SCALE = 3.0
    assert set(changed(result)) & {"settings.SCALE", f"global SCALE of {user_module.__file__}"}
    user_module.SCALE = 2.0
    user_module.scale = lambda x: x
    assert changed(result) == ["settings.scale"]


def test_user_modules_held_as_values(user_module):
    held = user_module

    def step(x):
        return x * held.SCALE

    result = walk_of(step, X)
    held.SCALE = 3.0
    assert changed(result) == ["held.SCALE"]


def test_modules_imported_in_the_call(user_module):
    def step(x):
        import settings_of_test

        return x * settings_of_test.SCALE

    result = walk_of(step, X)
    user_module.SCALE = 3.0
    assert changed(result) == ["settings_of_test.SCALE"]


def test_modules_of_torch_and_of_python_are_their_identity(monkeypatch):
    scope = {"torch": torch, "time": time}
    exec("def step(x):\n  return torch.relu(x) if time is not None else time.time()", scope)
    result = walk_of(scope["step"], X)
    monkeypatch.setattr(torch, "relu", torch.tanh)
    monkeypatch.setattr(time, "time", len)
    assert changed(result) == []
    scope["torch"] = time
    assert len(changed(result)) == 1


def test_state_of_standard_modules(monkeypatch):
    scope = {"os": __import__("os")}
    exec("def step(x):\n  return x * float(os.environ.get('SCALE_OF_TEST', 1))", scope)
    result = walk_of(scope["step"], X)
    monkeypatch.setenv("SCALE_OF_TEST", "2")
    assert changed(result) != []


# Order, size, speed.


def test_guards_of_owners_follow_those_that_lead_to_them():
    trainer = Trainer()
    result = walk_of(trainer.step, X)
    held = set()
    for g in result.guards:
        if g.kind in ("keys", "item") and g.path.startswith("step.__self__.model."):
            assert id(g.owner) in held or g.path.count(".") <= 3
        held.add(id(g.expected))


def test_each_guard_occurs_once():
    model, step = make_custom()
    guards = walk_of(step, X).guards
    names = [(g.kind, id(g.owner), repr(g.key)) for g in guards]
    assert len(set(names)) == len(names)


def test_a_large_model_is_walked_quickly():
    model = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(200)])
    step = training_step(model, sgd(model))
    observed = watch(step, X)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        result = walk([("step", step)], observed)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.1
    assert len(result.guards) < 200 * 45


def test_contexts_made_in_the_call():
    @contextlib.contextmanager
    def scaled():
        yield 2.0

    def step(x):
        with scaled() as s, torch.no_grad():
            return x * s

    assert changed_by_call(step, X) == []
