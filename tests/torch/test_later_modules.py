"""What users change after a function was captured: modules reached by other ways, names, weak references, rare places of attributes."""

import abc
import datetime
import decimal
import enum
import functools
import sys
import time
import types
import weakref

import pytest
import shunt_torch
import torch
from capturing import assert_noticed, refusal_of

now = datetime.datetime


class Box:
    """Without special methods."""


class Held(Box):
    def __init__(self):
        self.scale = 2.0


# --- modules by other ways ---


@pytest.fixture
def own_module(monkeypatch):
    module = types.ModuleType("module_of_a_user")
    module.__file__ = "/nowhere/module_of_a_user.py"
    module.SCALE = 2.0
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


MODULE = {
    "__dict__": "lambda x: x * m.__dict__['SCALE']",
    "vars": "lambda x: x * vars(m)['SCALE']",
    "getattr": "lambda x: x * getattr(m, 'SC' + 'ALEX'[:3])",
    "sys.modules": "lambda x: x * sys.modules['module_of_a_user'].SCALE",
    "__getattribute__": "lambda x: x * m.__getattribute__('SC' + 'ALEX'[:3])",
}


@pytest.mark.parametrize("name", MODULE)
def test_attributes_of_a_module(own_module, name):
    assert_noticed(eval(MODULE[name], {"m": own_module, "sys": sys}), lambda: setattr(own_module, "SCALE", 3.0))


def test_a_module_that_answers_by_its_own_getattr(own_module):
    own_module.factors = {"factor": 2.0}
    exec("def __getattr__(name):\n  return factors[name]", vars(own_module))
    step = eval("lambda x: x * m.factor", {"m": own_module})
    assert_noticed(step, lambda: own_module.factors.update(factor=3.0))
    assert_noticed(step, lambda: setattr(own_module, "__getattr__", lambda name: 5.0))
    assert_noticed(step, lambda: setattr(own_module, "factor", 7.0))


def test_what_is_imported_by_a_computed_name(own_module):
    import importlib

    refusal = refusal_of(lambda x: x * importlib.import_module("module_of_a_user").SCALE, torch.ones(2))
    assert "import it outside" in refusal and "test_later_modules.py" in refusal


def test_a_users_module_with_a_name_of_the_standard_library(monkeypatch, tmp_path):
    (tmp_path / "statistics.py").write_text("import numpy as np\narray = np.array([2.0])\n\n\ndef f(x):\n  return x * float(array[0])\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "statistics", raising=False)
    import statistics

    assert "NumPy array" in refusal_of(statistics.f, torch.ones(2))
    monkeypatch.delitem(sys.modules, "statistics")


def test_settings_that_pytorch_computes_when_asked():
    assert "cudnn.benchmark: is a setting" in refusal_of(lambda x: x * (2 if torch.backends.cudnn.benchmark else 3), torch.ones(2))


def test_a_divergence_that_is_registered_later():
    kind = type("Kind", (torch.distributions.Normal,), {})
    one, two = kind(torch.tensor(0.0), torch.tensor(1.0)), kind(torch.tensor(1.0), torch.tensor(2.0))
    assert_noticed(lambda x: x * torch.distributions.kl_divergence(one, two),
                   lambda: torch.distributions.register_kl(kind, kind)(lambda a, b: torch.tensor(7.0)))


# --- names, weak references ---


def test_names_of_functions_and_classes():
    def f():
        pass

    kind = type("Kind", (Box,), {})
    held = kind()
    assert_noticed(lambda x: x * (2 if f.__name__ == "f" else 3), lambda: setattr(f, "__name__", "g"))
    assert_noticed(lambda x: x * (2 if type(held).__name__ == "Kind" else 3), lambda: setattr(kind, "__name__", "Other"))
    other = type("Box", (), {})
    assert_noticed(lambda x: x * (2 if Box in type(held).__mro__ else 3), lambda: setattr(kind, "__bases__", (other,)))


def test_an_object_that_is_referred_to_weakly_alone():
    class Target:
        scale = 2.0

    holders = [Target()]
    reference = weakref.ref(holders[0])
    step = shunt_torch.capture(lambda x: x * (2 if reference() is not None else 3), check="never")
    for _ in range(5):
        step(torch.ones(2))
    assert "weakly alone" in str(step._refusal)
    held = Target()
    table = weakref.WeakKeyDictionary({held: 2.0})
    assert_noticed(lambda x: x * table[held], lambda: table.__setitem__(held, 3.0))
    holders.clear()
    assert reference() is None and step(torch.ones(1)).item() == 3


# --- more places of attributes ---


def partially(x, held):
    return x * 2


class Wide:
    pass


def annotated(x: "a"):
    return x


PLACES = {
    "a function's dict": (lambda: annotated, lambda f: setattr(f, "scale", 2.0), lambda x, f: x * f(2.0) * f.scale,
                          lambda f: setattr(f, "__dict__", {"scale": 3.0})),
    "a function's, computed": (lambda: annotated, lambda f: setattr(f, "scale", 2.0), lambda x, f: f(x) * getattr(f, "sc" + "ale"),
                               lambda f: setattr(f, "scale", 3.0)),
    "a function's, later": (lambda: annotated, lambda f: vars(f).clear(), lambda x, f: f(x) * getattr(f, "sc" + "ale", 2.0),
                            lambda f: setattr(f, "scale", 3.0)),
    "annotations": (lambda: annotated, lambda f: setattr(f, "__annotations__", {"x": "a"}), lambda x, f: x * len(f.__annotations__["x"]),
                    lambda f: f.__annotations__.update(x="bcd")),
    "a partial's": (lambda: functools.partial(partially), lambda p: setattr(p, "scale", 2.0), lambda x, p: x * p.scale,
                    lambda p: setattr(p, "scale", 3.0)),
    "a tensor's, computed": (lambda: torch.ones(2), lambda t: setattr(t, "scale", 2.0), lambda x, t: x * t * getattr(t, "sc" + "ale"),
                             lambda t: setattr(t, "scale", 3.0)),
    "a tensor's, later": (lambda: torch.ones(2), lambda t: None, lambda x, t: x * t * getattr(t, "sc" + "ale", 2.0),
                          lambda t: setattr(t, "scale", 3.0)),
    "a class's, later": (lambda: type("Kind", (Wide,), {})(), lambda h: None, lambda x, h: x * getattr(h, "sc" + "ale", 2.0),
                         lambda h: setattr(type(h), "scale", 3.0)),
    "a base's, later": (lambda: type("Kind", (type("Base", (), {}),), {})(), lambda h: None, lambda x, h: x * getattr(h, "sc" + "ale", 2.0),
                        lambda h: setattr(type(h).__mro__[1], "scale", 3.0)),
    "a class's annotations": (lambda: type("Kind", (), {"__annotations__": {"a": int}})(), lambda h: None,
                              lambda x, h: x * len(type(h).__annotations__), lambda h: type(h).__annotations__.update(b=int)),
    "a member's, later": (lambda: enum.Enum("Kind", "A").A, lambda m: None, lambda x, m: x * getattr(m, "sc" + "ale", 2.0),
                          lambda m: setattr(m, "scale", 3.0)),
    "a member's dict": (lambda: enum.Enum("Kind", "A").A, lambda m: setattr(m, "scale", 2.0), lambda x, m: x * m.scale,
                        lambda m: setattr(m, "__dict__", {**vars(m), "scale": 3.0})),
}


@pytest.mark.parametrize("name", PLACES)
def test_places_of_attributes(name):
    make, prepare, read, change = PLACES[name]
    held = make()
    prepare(held)
    assert_noticed(lambda x: read(x, held), lambda: change(held))


def test_a_module_that_is_replaced(own_module, monkeypatch):
    def step(x):
        import module_of_a_user as m

        return x * m.SCALE

    other = types.ModuleType("module_of_a_user")
    other.__file__, other.SCALE = own_module.__file__, 3.0
    assert_noticed(step, lambda: monkeypatch.setitem(sys.modules, "module_of_a_user", other))


def imports_a_clock(x):
    from time import perf_counter

    return x * next(iter(perf_counter, None))


def imports_clocks(x):
    import time as t

    return x * next(iter(t.perf_counter, None))


def names_a_clock(x):
    t = time
    return x * next(iter(t.perf_counter, None))


@pytest.mark.parametrize("step", [
    imports_a_clock, imports_clocks, names_a_clock,
    lambda x: x * next(iter(datetime.datetime.now, None)).microsecond,
    lambda x: x * next(iter(now.now, None)).microsecond,
    lambda x: x * next(iter(datetime.date.today, None)).day,
])  # fmt: skip
def test_more_clocks_that_are_called_from_c(step):
    assert "from C, unseen" in refusal_of(step, torch.ones(1, dtype=torch.float64))


# --- what C code reads ---


def test_attributes_that_pytorch_reads_and_a_class_gets_later(monkeypatch):
    linear = torch.nn.Linear(2, 2)
    step = lambda x: linear(x).detach()  # noqa: E731
    assert_noticed(step, lambda: monkeypatch.setattr(torch.nn.Linear, "weight", property(lambda self: torch.zeros(2, 2)), raising=False))
    monkeypatch.undo()

    class Net(torch.nn.Sequential):
        pass

    net = Net(torch.nn.Linear(2, 2))
    assert_noticed(lambda x: net(x).detach(), lambda: setattr(Net, "_modules", property(lambda self: {})))


def test_classes_that_are_registered_with_an_abstract_one():
    class Abstract(abc.ABC):
        pass

    held = type("Kind", (Box,), {})()
    assert_noticed(lambda x: x * (2 if isinstance(held, Abstract) else 3), lambda: Abstract.register(type(held)))


def test_decimals():
    held = decimal.Decimal("1")
    assert "rounded by a context" in refusal_of(lambda x: x * float(held / 3), torch.ones(2))


def test_a_format_that_is_passed_on():
    held, text = Held(), "{0." + "scale}"
    assert_noticed(lambda x: x * float([*map(str.format, [text], [held])][0]), lambda: setattr(held, "scale", 3.0))
