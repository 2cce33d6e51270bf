"""Walks of functions, of iterators, and of Python modules."""

import functools
import itertools
import random
import time

import pytest
import torch
from walking import Custom, X, changed, changed_by_call, refusals, walk_of, watch

from shunt_torch.walk import walk

HERE = __file__


def global_path(name):
    return f"global {name} of {HERE}"


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


def test_closures_of_the_library_may_hold_anything():
    scope = {}
    exec(compile("def wrap(f, log):\n  return lambda x: f(x, log)", torch.__file__, "exec"), scope)
    assert refusals(scope["wrap"](lambda x, log: x + 1, iter([])), X) == []


def test_loggers():
    import logging

    logger = logging.getLogger("shunt_torch.tests.walks")

    def step(x):
        logger.debug("step %s", 1)
        return x

    result = walk_of(step, X)
    logger.disabled = True
    assert changed(result) == ["logger.disabled"]


def test_super_is_no_closure_that_can_be_lost():
    def make():
        class Derived(Custom):
            def __init__(self):
                super().__init__()

        return Derived

    hidden = make()
    observed = watch(lambda x, make: make(), X, hidden)
    assert walk([("step", len)], observed).refusals == []


def test_a_closure_that_the_walk_cannot_find_is_refused():
    hidden = lost_closure()
    observed = watch(lambda x: hidden(x), X)
    reasons = walk([("step", lambda x: x)], observed).refusals
    assert any("reads weight from a closure that can't be found" in r.reason for r in reasons)


def test_globals_of_a_function_that_the_walk_cannot_find(monkeypatch):
    observed = watch(lambda x: helper(x), X)
    result = walk([("step", len)], observed)
    monkeypatch.setitem(globals(), "HELPER_OFFSET", 5.0)
    assert changed(result) == [global_path("HELPER_OFFSET")]


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


def test_attributes_that_modules_lack(user_module):
    scope = {"settings": user_module}
    exec(
        "def asks(x):\n  return settings.OTHER if hasattr(settings, 'OTHER') else x\n"
        "def tries(x):\n  try:\n    return settings.OTHER\n  except AttributeError:\n    return x",
        scope,
    )
    results = [walk_of(scope["asks"], X), walk_of(scope["tries"], X)]
    user_module.OTHER = 3
    assert [changed(r) for r in results] == [["settings.OTHER"], ["settings.OTHER"]]


def test_modules_imported_in_the_call(user_module):
    def step(x):
        import settings_of_test

        return x * settings_of_test.SCALE

    result = walk_of(step, X)
    user_module.SCALE = 3.0
    assert changed(result) == ["settings_of_test.SCALE"]


def test_of_modules_of_torch_and_of_python_what_code_names_counts(monkeypatch):
    scope = {"torch": torch, "time": time}
    exec("def step(x):\n  return torch.relu(x) if time is not None else time.time()", scope)
    result = walk_of(scope["step"], X)
    monkeypatch.setattr(torch, "tanh", torch.relu)
    monkeypatch.setattr(time, "perf_counter", len)
    assert changed(result) == []
    monkeypatch.setattr(torch, "relu", torch.cos)
    monkeypatch.setattr(time, "time", len)
    assert sorted(changed(result)) == ["time.time", "torch.relu"]
    scope["torch"] = time
    assert "global torch of <string>" in changed(result)


def test_state_of_standard_modules(monkeypatch):
    scope = {"os": __import__("os")}
    exec("def step(x):\n  return x * float(os.environ.get('SCALE_OF_TEST', 1))", scope)
    result = walk_of(scope["step"], X)
    monkeypatch.setenv("SCALE_OF_TEST", "2")
    assert changed(result) != []
