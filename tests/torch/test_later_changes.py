"""What users change after a function was captured, at places where changes are rare: classes, other packages, PyTorch itself."""

import enum
import functools
import operator
import sys
import time
import types

import numpy as np
import pytest
import shunt_torch
import torch
from capturing import assert_noticed, bits, refusal_of, replays

F = torch.nn.functional


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
