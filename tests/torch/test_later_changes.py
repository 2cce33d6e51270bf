"""What users change after a function was captured, at places where changes are rare: classes, other packages, PyTorch itself."""

import abc
import datetime
import decimal
import enum
import functools
import operator
import sys
import time
import types
import weakref

import numpy as np
import pytest
import shunt_torch
import torch
from capturing import bits, refusal_of, replays

F = torch.nn.functional
now = datetime.datetime


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


# --- classes ---


class Box:
    """Without special methods."""


def boxed(change, read):
    """A function that reads an object of a new class, and a change of the class."""
    kind = type("Kind", (Box,), {})
    held = kind()
    held.scale = 2.0
    assert_noticed(lambda x: read(x, held), lambda: change(kind))


CLASS_CHANGES = {
    "property": lambda kind: setattr(kind, "scale", property(lambda self: 7.0)),
    "property of a base": lambda kind: setattr(kind.__bases__[0], "scale", property(lambda self: 7.0)),
    "__getattribute__": lambda kind: setattr(
        kind, "__getattribute__", lambda self, name: 7.0 if name == "scale" else object.__getattribute__(self, name)),
    "another base": lambda kind: setattr(kind, "__bases__", (type("Other", (), {"scale": property(lambda self: 7.0)}),)),
}


@pytest.mark.parametrize("change", CLASS_CHANGES)
def test_an_attribute_that_a_class_takes_over(change):
    try:
        boxed(CLASS_CHANGES[change], lambda x, held: x * held.scale)
    finally:
        if "scale" in vars(Box):
            del Box.scale


SPECIAL = {
    "__bool__": (lambda self: False, lambda x, held: x * 2 if held else x),
    "__len__": (lambda self: 0, lambda x, held: x * 2 if held else x),
    "__eq__": (lambda self, other: True, lambda x, held: x * 2 if held == 1 else x),
    "__contains__": (lambda self, other: True, lambda x, held: x * 2 if hasattr(type(held), "__contains__") else x),
    "__float__": (lambda self: 3.0, lambda x, held: x * 2 if hasattr(held, "__float__") else x),
    "__str__": (lambda self: "", lambda x, held: x * len(str(type(held).__str__(held)))),
    "__hash__": (lambda self: 5, lambda x, held: x * 2 if hash(held) == 5 else x),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_method_that_a_class_gets_later(name):
    method, read = SPECIAL[name]
    boxed(lambda kind: setattr(kind, name, method), read)


def test_a_method_that_a_module_gets_later():
    class Net(torch.nn.Module):
        def forward(self, x):
            return x * self.scale

    net = Net()
    net.scale = 2.0
    assert_noticed(lambda x: net(x), lambda: setattr(Net, "__call__", lambda self, x: x * 9))


class Level:
    scale = 2.0


@pytest.mark.parametrize("depth", [1, 3, 4, 5, 6, 9])
def test_an_attribute_of_a_class_deep_down(depth):
    root = inner = Box()
    for _ in range(depth):
        inner.next = Box()
        inner = inner.next
    inner.next = level = type("Deep", (Level,), {})()

    def step(x):
        at = root
        for _ in range(depth + 1):
            at = at.next
        return x * at.scale

    if depth > 4:
        assert "deeper than" in refusal_of(step, torch.ones(2))
    else:
        assert_noticed(step, lambda: setattr(type(level), "scale", 3.0))


class Chained:
    next = scale = None


def test_class_attributes_alone_deep_down():
    kinds = [type(f"Kind{i}", (Chained,), {}) for i in range(9)]
    for kind, following in zip(kinds, kinds[1:]):
        kind.next = following()
    kinds[-1].scale = 2.0
    root = kinds[0]()
    step = lambda x: x * root.next.next.next.next.next.next.next.next.scale  # noqa: E731
    captured = shunt_torch.capture(step, check="never")
    for _ in range(5):
        captured(torch.ones(2))
    kinds[-1].scale = 3.0
    assert bits(captured(torch.ones(2))) == bits(step(torch.ones(2)))


# --- enums ---


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


@pytest.mark.parametrize("hold", [lambda m: m, lambda m: (m, 1), lambda m: slice(None, (m,))], ids=["member", "tuple", "slice"])
def test_an_attribute_of_an_enums_member(hold):
    kind = enum.Enum("Kind", "A B")
    kind.A.scale = 2.0
    held = hold(kind.A)

    def step(x):
        member = held if type(held) is kind else held[0] if type(held) is tuple else held.stop[0]
        return x * member.scale

    assert_noticed(step, lambda: setattr(kind.A, "scale", 3.0))


def test_an_attribute_of_a_member_among_the_arguments():
    kind = enum.Enum("Kind", "A B")
    kind.A.scale = 2.0
    captured = shunt_torch.capture(lambda x, mode: x * mode.scale, check="never")
    for _ in range(5):
        captured(torch.ones(2), kind.A)
    assert replays(captured) > 0
    kind.A.scale = 3.0
    assert captured(torch.ones(2), kind.A).tolist() == [3.0, 3.0]


# --- sets ---


@pytest.mark.parametrize("elements", [(0, 8), ("a", "b", "c", "d")])
def test_the_order_of_a_set(elements):
    held = set(elements)
    values = {e: float(i + 1) for i, e in enumerate(elements)}

    def step(x):
        for e in held:
            x = x * 2 + values[e]
        return x

    captured = shunt_torch.capture(step, check="never", max_recordings=20)
    x = torch.ones(2)
    for _ in range(5):
        captured(x)
    seen = set()
    for turn in range(len(elements)):
        for order in (elements[turn:] + elements[:turn], (elements[turn:] + elements[:turn])[::-1]):
            held.clear()
            for e in order:
                held.add(e)
            seen.add(tuple(held))
            assert bits(captured(x)) == bits(step(x))
    assert len(seen) > 1 or elements != (0, 8)


# --- other packages ---


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package."""
    folder = tmp_path / "site-packages" / "installed_package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(
        "class Config:\n  scale = 2.0\n\n\n"
        "def scaled(x, state={'n': 2.0}):\n  return x * state['n']\n\n\n"
        "def loss(x):\n  return x * 2\n\n\nSCALE = 2.0\nNAMES = ['a']\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    import installed_package

    yield installed_package
    del sys.modules["installed_package"]


def import_inside(x):
    from installed_package import SCALE

    return x * SCALE


def import_module_inside(x):
    import installed_package as p

    return x * p.SCALE


PACKAGE = {
    "a class's attribute": ("lambda x: x * p.Config.scale", lambda p: setattr(p.Config, "scale", 3.0)),
    "a default": ("lambda x: p.scaled(x)", lambda p: p.scaled.__defaults__[0].update(n=3.0)),
    "defaults": ("lambda x: p.scaled(x)", lambda p: setattr(p.scaled, "__defaults__", ({"n": 3.0},))),
    "a function": ("lambda x: p.loss(x)", lambda p: setattr(p, "loss", lambda x: x * 5)),
    "a function's code": ("lambda x: p.loss(x)", lambda p: setattr(p.loss, "__code__", (lambda x: x * 5).__code__)),
    "a class": ("lambda x: x * p.Config.scale", lambda p: setattr(p, "Config", types.SimpleNamespace(scale=3.0))),
    "a number": ("lambda x: x * p.SCALE", lambda p: setattr(p, "SCALE", 3.0)),
    "a list": ("lambda x: x * len(p.NAMES)", lambda p: p.NAMES.append("b")),
    "by a computed name": ("lambda x: x * getattr(p, 'SC' + 'ALE'.lower().upper())", lambda p: setattr(p, "SCALE", 3.0)),
    "by vars()": ("lambda x: x * vars(p)['SCALE']", lambda p: setattr(p, "SCALE", 3.0)),
}


@pytest.mark.parametrize("name", PACKAGE)
def test_an_installed_package(package, name):
    source, change = PACKAGE[name]
    assert_noticed(eval(source, {"p": package}), lambda: change(package))


@pytest.mark.parametrize("step", [import_inside, import_module_inside])
def test_an_installed_package_that_is_imported_inside(package, step):
    assert_noticed(step, lambda: setattr(package, "SCALE", 3.0))


# --- PyTorch ---

relu = torch.nn.ReLU()


class Scaled(torch.nn.Module):
    def forward(self, x):
        return relu(x) * 2


scaled = Scaled()
TORCH = {
    "a function": (lambda x: torch.sin(x) * 1, torch, "sin", lambda x: x * 9),
    "a function by two names": (lambda x: torch.nn.functional.relu(x) * 1, F, "relu", lambda x: x * 9),
    "a function that a module calls": (lambda x: relu(x) * 1, F, "relu", lambda x, inplace=False: x * 9),
    "a function of a module's": (lambda x: F.gelu(x) * 1, F, "gelu", lambda x: x * 9),
    "forward": (lambda x: relu(x) * 1, torch.nn.ReLU, "forward", lambda self, x: x * 9),
    "the call of modules": (lambda x: scaled(x), torch.nn.Module, "_call_impl", lambda self, x: x * 9),
    "a method of tensors": (lambda x: x.cos() * 1, torch.Tensor, "cos", lambda self: self * 9),
    "an operator of tensors": (lambda x: x * 3.0, torch.Tensor, "__mul__", lambda self, other: self.add(9)),
    "a method of distributions": (lambda x: torch.distributions.Normal(x, x, validate_args=False).log_prob(x),
                                  torch.distributions.Normal, "log_prob", lambda self, x: x * 9),
}


@pytest.mark.parametrize("name", TORCH)
def test_what_users_replace_in_pytorch(name, monkeypatch):
    step, owner, attribute, replacement = TORCH[name]
    assert_noticed(step, lambda: monkeypatch.setattr(owner, attribute, replacement))


def test_attributes_that_users_set_on_pytorch(monkeypatch):
    monkeypatch.setattr(torch, "my_scale", 2.0, raising=False)
    monkeypatch.setattr(torch, "my_list", [2.0], raising=False)
    monkeypatch.setattr(torch.Tensor, "my_factor", 2.0, raising=False)
    step = lambda x: x * torch.my_scale * torch.my_list[0] * x.my_factor  # noqa: E731
    assert_noticed(step, lambda: setattr(torch, "my_scale", 3.0))
    assert_noticed(step, lambda: torch.my_list.__setitem__(0, 3.0))
    assert_noticed(step, lambda: setattr(torch.Tensor, "my_factor", 3.0))


def test_a_recording_in_another_thread_replaces_nothing_that_is_guarded():
    step = lambda x: x[0] * torch.tensor(2.0) + torch.as_tensor(1.0)  # noqa: E731
    captured = shunt_torch.capture(step, check="never")
    for _ in range(5):
        captured(torch.ones(2))
    before = replays(captured)
    other = shunt_torch.capture(lambda x: (captured(torch.ones(2)), x * 2)[1], check="never")
    for _ in range(5):
        other(torch.ones(2))
    captured(torch.ones(2))
    assert replays(captured) > before and len(captured._recordings) == 1


# --- computed names ---


class Held(Box):
    def __init__(self):
        self.scale = 2.0
        self.width = 7


FORMATS = {
    "format": lambda x, held: x * float("{0.scale}".format(held)),
    "by name": lambda x, held: x * float("{held.scale}".format(held=held)),
    "nested": lambda x, held: x * len("{0:{1.scale}}".format("a", held)),
    "format_map": lambda x, held: x * float("{a.scale}".format_map({"a": held})),
    "computed": lambda x, held: x * float(("{0.sc" + "ale"[:3] + "}").format(held)),
    "called from C": lambda x, held: x * float(next(map("{0.scale}".format, [held]))),
    "in a container": lambda x, held: x * float("{0[a].scale}".format({"a": held})),
}


@pytest.mark.parametrize("name", FORMATS)
def test_attributes_that_formats_name(name):
    held = Held()
    held.scale = 2
    assert_noticed(lambda x: FORMATS[name](x, held), lambda: setattr(held, "scale", 3))


class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.secret = np.array([2.0])

    def forward(self, x):
        return x * float(self.read()[0])


COMPUTED = {
    "getattr": lambda self: getattr(self, "sec" + "retly"[:3]),
    "vars": lambda self: next(v for v in vars(self).values() if type(v) is np.ndarray),
    "__dict__": lambda self: next(v for v in self.__dict__.values() if type(v) is np.ndarray),
    "__getattribute__": lambda self: object.__getattribute__(self, "sec" + "retly"[:3]),
    "attrgetter": lambda self: operator.attrgetter("sec" + "retly"[:3])(self),
}


@pytest.mark.parametrize("name", COMPUTED)
@pytest.mark.parametrize("kind", ["module", "object"])
def test_an_array_found_by_a_computed_name(name, kind):
    base = Keeps if kind == "module" else type("Keeps", (), {"__init__": lambda self: setattr(self, "secret", np.array([2.0])),
                                                            "__call__": Keeps.forward})
    held = type("Reader", (base,), {"read": COMPUTED[name]})()
    assert "NumPy array" in refusal_of(lambda x: held(x), torch.ones(2))


# --- C functions that others from C call ---


class Clocked:
    def __init__(self):
        self.clock = time.perf_counter
        self.table = {"clock": time.perf_counter}


clocked = Clocked()
clocks = [time.perf_counter]


def with_default(x, clock=time.perf_counter):
    return x * next(iter(clock, None))


def with_keyword_default(x, *, clock=time.perf_counter):
    return x * [*map(lambda c: next(iter(c, None)), [clock])][0]


CLOCKS = {
    "a default": with_default,
    "a keyword default": with_keyword_default,
    "an attribute": lambda x: x * functools.partial(clocked.clock)(),
    "an attribute called": lambda x: x * operator.call(clocked.clock) if hasattr(operator, "call") else x * next(iter(clocked.clock, None)),
    "a container": lambda x: x * next(iter(clocked.table["clock"], None)),
    "a list": lambda x: x * next(iter(clocks[0], None)),
    "a partial": functools.partial(lambda clock, x: x * next(iter(clock, None)), time.perf_counter),
    "a methodcaller": lambda x: x * operator.methodcaller("perf_counter")(time),
    "a computed methodcaller": lambda x: x * operator.methodcaller("perf_" + "counter")(time),
    "an attrgetter": lambda x: x * next(iter(operator.attrgetter("perf_counter")(time), None)),
    "sorted": lambda x: x * sorted([1, 2], key=clocked.table.get("clock") and (lambda k: next(iter(clocked.clock, None))))[0],
    "a class's attribute": lambda x: x * next(iter(WithClock.clock, None)),
    "a static method": lambda x: x * next(iter(WithClock.static, None)),
}


class WithClock:
    clock = time.perf_counter
    static = staticmethod(time.perf_counter)


@pytest.mark.parametrize("name", CLOCKS)
def test_a_clock_that_is_called_from_c(name):
    assert "from C, unseen" in refusal_of(CLOCKS[name], torch.ones(1, dtype=torch.float64))


def test_a_closures_clock():
    clock = time.perf_counter
    assert "perf_counter" in refusal_of(lambda x: x * next(iter(clock, None)), torch.ones(1, dtype=torch.float64))


# --- what exceptions and NumPy's scalars keep ---


def test_arguments_of_exceptions():
    error, os_error = ValueError("2.0"), OSError(1, "a")
    assert_noticed(lambda x: x * float(error.args[0]), lambda: setattr(error, "args", ("3.0",)))
    assert_noticed(lambda x: x * os_error.errno, lambda: setattr(os_error, "errno", 3))
    own = type("Own", (ValueError,), {})("ab")
    assert_noticed(lambda x: x * len(str(own)), lambda: setattr(own, "args", ("abc",)))


def test_numpys_records():
    record = np.zeros(1, dtype=[("a", "f8")])[0]
    assert "NumPy" in refusal_of(lambda x: x * float(record["a"]), torch.ones(2))


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
    assert "import it outside" in refusal and "test_later_changes.py" in refusal


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
