"""Walks of instances and classes: what code names, absence included, to a depth."""

import collections
import dataclasses
import enum
import functools
import logging
import sys
import types

import pytest
import torch
from walking import Custom, Money, X, changed, make_custom, refusals, sgd, walk_of, watch

from shunt_torch.walk import walk


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


def test_an_attribute_that_a_method_makes():
    class Lazy:
        def step(self, x):
            self.made = x
            return x

    observed = watch(Lazy().step, X)
    fresh = Lazy()
    result = walk([("step", fresh.step)], observed)
    fresh.step(X)
    assert changed(result) == ["step.__self__.made"]


def test_an_attribute_that_a_class_gets_later():
    class Held:
        pass

    held = Held()

    def step(x):
        return x * getattr(held, "factor", 2.0)

    result = walk_of(step, X)
    Held.factor = 3.0
    assert changed(result) == [f"attributes of {Held.__qualname__}"]


def test_class_attributes_by_computed_names():
    class Held:
        n0 = 1.0

    held = Held()

    def step(x):
        return x * sum(getattr(held, "n" + str(i)) for i in range(1))

    result = walk_of(step, X)
    Held.n0 = 3.0
    assert [p.rpartition(".")[2] for p in changed(result)] == ["n0"]


def test_methods_inherited_from_the_standard_library():
    class Settings(collections.UserDict):
        pass

    held = Settings(scale=2.0)

    def step(x):
        return x * held.get("scale")

    result = walk_of(step, X)
    Settings.get = lambda self, name: 3.0
    assert changed(result) == ["Mapping.get"]
    del Settings.get
    held["scale"] = 3.0
    assert changed(result) == ["held.data['scale']"]


class Level(enum.Enum):
    LOW = 1

    def factor(self):
        return 2.0 * self.value


def test_methods_of_an_enum_that_only_a_member_leads_to(monkeypatch):
    held = types.SimpleNamespace(level=Level.LOW)

    def step(x):
        return x * held.level.factor()

    result = walk_of(step, X)
    monkeypatch.setattr(Level, "factor", lambda self: 1.0)
    assert changed(result) == ["Level.factor"]


def test_the_shortest_way_counts():
    outer, last = nest(4)
    last.a = inner = types.SimpleNamespace(scale=2.0)
    near = [[[[[[inner]]]]]]

    def step(x):
        return x * near[0][0][0][0][0][0].scale if outer.a.a.a.a.a is not None else x

    result = walk_of(step, X)
    inner.scale = 3.0
    assert changed(result) == ["near[0][0][0][0][0][0].scale"]


class ClassProperty(property):
    def __get__(self, owner_self, owner_cls):
        return self.fget(owner_cls)


FACTOR = 2.0


class Configured:
    @ClassProperty
    def factor(cls):
        return FACTOR


def test_a_property_of_a_class_of_its_own():
    held = Configured()

    def step(x):
        return x * held.factor

    result = walk_of(step, X)
    vars(sys.modules[__name__])["FACTOR"] = 3.0
    assert [path for path in changed(result) if "FACTOR" in path] == changed(result) != []
    vars(sys.modules[__name__])["FACTOR"] = 2.0
    ClassProperty.__get__, old = (lambda self, o, c: 1.0), ClassProperty.__get__
    assert changed(result) == ["ClassProperty.__get__"]
    ClassProperty.__get__ = old
    assert changed(result) == []


LOGGER = logging.getLogger("shunt_torch.tests.walk")


def test_loggers():
    def step(x):
        if LOGGER.isEnabledFor(logging.INFO):
            return x * 2
        LOGGER.debug("nothing is logged")
        return x

    result = walk_of(step, X)
    for change, undo, path in [
        (lambda: LOGGER.setLevel(logging.INFO), lambda: LOGGER.setLevel(logging.NOTSET), "LOGGER.level"),
        (lambda: setattr(LOGGER, "disabled", True), lambda: setattr(LOGGER, "disabled", False), "LOGGER.disabled"),
        (lambda: logging.disable(logging.ERROR), lambda: logging.disable(logging.NOTSET), "LOGGER.manager.disable"),
    ]:
        change()
        assert changed(result) == [path]
        undo()
        assert changed(result) == []


def test_a_message_that_is_logged():
    def step(x):
        LOGGER.warning("a message")
        return x

    observed = watch(step, X)
    assert any("a replay would not" in r.reason for r in observed.refusals)
