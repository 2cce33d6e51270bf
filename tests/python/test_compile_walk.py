"""What a compiled function reads besides its arguments: a change is another variant or a refusal by name, and never a
frozen value."""

import contextvars
import enum
import functools
import itertools
import math
import random
import time
import types

import pytest

import shunt
from compiling import facts, hits, unchecked, warm

SCALE = 2.0
TABLE = {"k": 3.0, "inner": [1.0, 2.0]}
WEIGHT = shunt.ones(3)
COUNTER = itertools.count()
VARIABLE = contextvars.ContextVar("VARIABLE", default=1.0)
X = shunt.randn(3)


def helper(x):
    return x * SCALE


def calls_helper(x):
    return helper(x) + TABLE["k"] * TABLE["inner"][1]


class Holder:
    rate = 0.5

    def __init__(self):
        self.w = shunt.ones(3)
        self.k = 2.0
        self.items = [1.0, 2.0]
        self.child = types.SimpleNamespace(value=4.0)

    @property
    def doubled(self):
        return self.k * 2

    def step(self, x):
        return x * self.w * self.k + self.rate + sum(self.items) + self.child.value + self.doubled


class Color(enum.Enum):
    RED = 1.0
    BLUE = 2.0


def check_change(function, change, *args):
    """The function is a graph; after the change it gives what it gives then, and is a graph again; and so on with the
    change undone."""
    f = unchecked(function)
    warm(f, *args, times=4)
    before = hits(f)
    assert before == 2, f.explain()
    change()
    for _ in range(4):
        assert facts(f(*args)) == facts(function(*args))
    assert hits(f) >= before + 2, f.explain()
    return f


@pytest.fixture(autouse=True)
def state(monkeypatch):
    """Whatever a test changes is put back."""
    monkeypatch.setitem(TABLE, "k", 3.0)
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    monkeypatch.setitem(globals(), "WEIGHT", WEIGHT)
    monkeypatch.setitem(globals(), "helper", helper)
    monkeypatch.setattr(Holder, "rate", 0.5)
    inner = list(TABLE["inner"])
    yield
    TABLE["inner"][:] = inner


def test_a_global_number(monkeypatch):
    f = check_change(calls_helper, lambda: monkeypatch.setitem(globals(), "SCALE", 5.0), X)
    assert "SCALE" in f.explain()
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    before = hits(f)
    assert facts(f(X)) == facts(calls_helper(X)) and hits(f) == before + 1  # its first variant


def test_a_global_dict():
    check_change(calls_helper, lambda: TABLE.update(k=7.0), X)


def test_a_list_in_a_dict():
    check_change(calls_helper, lambda: TABLE["inner"].__setitem__(1, 9.0), X)


def test_a_helper_that_is_replaced(monkeypatch):
    check_change(calls_helper, lambda: monkeypatch.setitem(globals(), "helper", lambda x: x - 1), X)


def test_code_that_is_replaced():
    def inner(x):
        return x * 2

    def other(x):
        return x * 3
    check_change(lambda x: inner(x), lambda: setattr(inner, "__code__", other.__code__), X)


def test_a_global_tensor_that_is_another(monkeypatch):
    check_change(lambda x: x * WEIGHT, lambda: monkeypatch.setitem(globals(), "WEIGHT", shunt.full([3], 4.0)), X)


def test_a_captured_tensors_elements_are_read_at_each_call():
    w = shunt.ones(3)
    f = unchecked(lambda x: x * w)
    warm(f, X)
    w.mul_(5)
    before = hits(f)
    assert f(X).tolist() == (X * 5).tolist() and hits(f) == before + 1


def test_a_captured_tensor_that_requires_grad_now():
    w = shunt.ones(3)
    check_change(lambda x: x * w, lambda: w.requires_grad_(), X)


def test_a_captured_tensors_shape_that_is_only_asked_for():
    w = shunt.ones(3)
    f = unchecked(lambda x: x * w.shape[0] + (1 if w.requires_grad else 0))
    assert warm(f, X).tolist() == (X * 3).tolist() and hits(f) == 1
    w.requires_grad_()
    assert warm(f, X, times=4).tolist() == (X * 3 + 1).tolist()
    w = shunt.ones(4)
    assert warm(f, X, times=4).tolist() == (X * 4).tolist()


def test_a_closure():
    k = 2.0

    def change():
        nonlocal k
        k = 3.0
    check_change(lambda x: x * k, change, X)


def test_defaults():
    def f(x, k=2.0, *, j=1.0):
        return x * k + j
    check_change(f, lambda: setattr(f, "__defaults__", (4.0,)), X)
    check_change(f, lambda: f.__kwdefaults__.update(j=8.0), X)


@pytest.mark.parametrize("change", [
    lambda h: setattr(h, "k", 5.0), lambda h: setattr(h, "w", shunt.full([3], 2.0)), lambda h: h.items.append(3.0),
    lambda h: setattr(h.child, "value", 1.0), lambda h: setattr(h, "rate", 9.0),
    lambda h: setattr(type(h), "rate", 0.25),
    lambda h: h.__dict__.update(k=7.0),
], ids=["number", "tensor", "list", "child", "shadows the class", "class", "dict"])
def test_attributes_of_objects(change):
    holder = Holder()
    check_change(holder.step, lambda: change(holder), X)
    Holder.rate = 0.5
    holder = Holder()
    check_change(lambda x: holder.step(x), lambda: change(holder), X)


def test_an_object_among_the_arguments():
    def function(h, x):
        return h.step(x)
    holder = Holder()
    f = check_change(function, lambda: setattr(holder, "k", 5.0), holder, X)
    other = Holder()
    assert facts(f(other, X)) == facts(other.step(X))


def test_a_class_that_gets_a_method():
    class Thing:
        def value(self):
            return 2.0
    thing = Thing()
    check_change(lambda x: x * thing.value(), lambda: setattr(Thing, "value", lambda self: 3.0), X)


def test_an_enum_and_a_partial():
    color = Color.RED

    def change():
        nonlocal color
        color = Color.BLUE
    check_change(lambda x: x * color.value, change, X)
    options = {"k": 2.0}
    inner = functools.partial(lambda x, options: x * options["k"], options=options)
    check_change(lambda x: inner(x), lambda: options.update(k=5.0), X)


def test_a_context_variable():
    check_change(lambda x: x * VARIABLE.get(), lambda: VARIABLE.set(6.0), X)


def test_functions_of_modules_may_be_replaced(monkeypatch):
    check_change(lambda x: x * math.sqrt(4.0), lambda: monkeypatch.setattr(math, "sqrt", lambda v: v), X)
    check_change(lambda x: shunt.relu(x), lambda: monkeypatch.setattr(shunt, "relu", lambda x: x * 0), X)


def refused(function, *args, why):
    f = unchecked(function)
    for _ in range(6):
        f(*args)
    assert hits(f) == 0
    assert why in f.explain(), f.explain()
    return f


def test_what_a_function_counts_is_counted_once_a_call():
    holder = types.SimpleNamespace(n=0)

    def count(x):
        holder.n += 1
        return x * 2
    with pytest.warns(UserWarning, match="holder.n"):
        refused(count, X, why="holder.n")
    assert holder.n == 6


def test_what_a_function_appends_is_appended_once_a_call():
    log = []

    def keep(x):
        log.append(x.shape[0])
        return x * 2
    with pytest.warns(UserWarning, match="log"):
        refused(keep, X, why="log")
    assert log == [3] * 6


def test_a_tensor_that_is_kept():
    holder = types.SimpleNamespace(h=shunt.zeros(3))

    def step(x):
        holder.h = (holder.h + x).tanh()
        return holder.h * 2
    expected, h = [], shunt.zeros(3)
    for _ in range(6):
        h = (h + X).tanh()
        expected.append((h * 2).tolist())
    f = unchecked(step)
    with pytest.warns(UserWarning, match="holder.h"):
        assert [f(X).tolist() for _ in range(6)] == expected
    assert hits(f) == 0


def test_arguments_that_are_changed():
    def function(x, items):
        items.append(1)
        return x * len(items)
    items = []
    f = unchecked(function)
    assert [f(X, items).tolist() for _ in range(5)] == [(X * n).tolist() for n in range(1, 6)]
    assert hits(f) == 0 and len(items) == 5

    def replaces(x, table):
        table["x"] = x * 2
        return table["x"] + 1
    table = {"x": X}
    g = unchecked(replaces)
    for _ in range(6):
        assert g(X, table).tolist() == (X * 2 + 1).tolist()
    assert table["x"].tolist() == (X * 2).tolist() and hits(g) == 0


@pytest.mark.parametrize("function, why", [
    (lambda x: x * next(COUNTER), "iterator"),
    (lambda x: x * time.time(), "time.time"),
    (lambda x: x * random.random(), "random"),
    (lambda x: (print(end=""), x)[1], "print"),
    (lambda x: x * len(open(__file__, "rb").read(1)), "open"),
], ids=["iterator", "clock", "random", "print", "file"])
def test_what_no_graph_would_do_again_is_refused(function, why):
    refused(function, X, why=why)


def test_a_thread_that_is_started_is_refused():
    import threading

    def function(x):
        t = threading.Thread(target=lambda: None)
        t.start()
        t.join()
        return x * 2
    refused(function, X, why="thread")


def test_seeds_are_refused():
    def function(x):
        shunt.manual_seed(3)
        return x + shunt.rand(3)
    f = refused(function, X, why="manual_seed")
    assert f(X).tolist() == function(X).tolist()


def test_state_that_is_made_at_the_first_call():
    cache = {}

    def function(x):
        if "w" not in cache:
            cache["w"] = shunt.full([3], 2.0)
        return x * cache["w"]
    f = unchecked(function)
    assert warm(f, X, times=6).tolist() == (X * 2).tolist()
    assert hits(f) >= 2, f.explain()


def test_another_branch_is_seen_by_the_recording():
    mode = types.SimpleNamespace(calls=0)

    def function(x, flag):
        return helper(x) if flag else x - SCALE
    f = unchecked(function)
    for flag in (True, False, True, False, True, False, True, False):
        assert f(X, flag).tolist() == function(X, flag).tolist()
    assert hits(f) >= 2 and mode.calls == 0


def test_guards_keep_nothing_of_the_arguments_tensors():
    import gc
    import weakref
    f = unchecked(lambda x: x * 2)
    x = shunt.randn(3)
    warm(f, x)
    reference = weakref.ref(x)
    del x
    gc.collect()
    assert reference() is None


def reads_of(w):
    import numpy as np
    return {
        "numpy": lambda x: x * float(w.numpy()[0]), "tolist": lambda x: x * w.tolist()[0],
        "item": lambda x: x * w[0].item(),
        "float": lambda x: x * float(w[0]), "array": lambda x: x * float(np.asarray(w)[0]),
        "bool": lambda x: x * (2 if w[0] > 0 else 3),
        "text": lambda x: x * len(f"{w}"), "repr": lambda x: x * len(repr(w)),
        "iterated": lambda x: sum((x * float(v) for v in w), x),
        "equal": lambda x: x * (2 if shunt.equal(w, w) else 3),
        "allclose": lambda x: x * (2 if shunt.allclose(w, w * 1) else 3),
        "contains": lambda x: x * (2 if 1.0 in w else 3), "int": lambda x: x[: int(w[0])],
        "index": lambda x: x[w.long()[0]] if True else x,
        "memoryview": lambda x: x * memoryview(w)[0] if hasattr(type(w), "__buffer__") else x * w[0].item(),
        "pointer": lambda x: x * (w.data_ptr() % 7), "nonzero": lambda x: x * w.nonzero().shape[0],
        "mask": lambda x: (x * w)[w > 1].sum(),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", reads_of(None))
def test_elements_of_captured_tensors_that_python_reads_are_never_frozen(name):
    w = shunt.full([3], 1.0)
    function = reads_of(w)[name]
    f = unchecked(function)
    for value in (1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 0.0, -1.0):
        w.fill_(value)
        try:
            want = facts(function(X))
        except IndexError:
            continue
        assert facts(f(X)) == want, (value, f.explain())
