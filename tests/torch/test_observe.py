"""Observed: whose code runs, which names it uses, and which C functions it may not call."""

import copy
import functools
import math
import operator
import random
import sys
import threading
import time

import pytest
import torch
from walking import watch

from shunt_torch.observe import Observed


def refused(step, *args):
    return [f"{r.path}: {r.reason}" for r in watch(step, *args, calls=1).refusals]


X = torch.ones(3)


# Allowed calls.


def uses_builtins(x):
    values = sorted([len([1, 2]), max(1, 2), abs(-1)], key=lambda v: -v)
    text = ",".join(str(v) for v in reversed(values))
    pairs = dict(zip(range(3), map(str, values)))
    pairs.setdefault(5, "five")
    total = functools.reduce(operator.add, values, 0)
    it = iter(values)
    next(it)
    if isinstance(x, torch.Tensor) and hasattr(x, "grad") and getattr(x, "shape", None):
        total += math.sqrt(4.0)
    setattr(x, "grad", None)
    return text, pairs, total, copy.copy(values), copy.deepcopy({"a": [1]})


def uses_torch(x):
    with torch.no_grad():
        y = torch.nn.functional.relu(x).add(1).mul_(2)
    z = torch.cat([y, torch.zeros(2)]).sum()
    return torch.distributions.Normal(z, 1.0).rsample()


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def uses_autograd_function(x):
    Double.apply(x.clone().requires_grad_()).sum().backward()


@pytest.mark.parametrize("step", [uses_builtins, uses_torch, uses_autograd_function])
def test_allows(step):
    assert refused(step, X) == []


def test_allows_C_methods_called_by_super():
    class Names(list):
        def append(self, x):
            super().append(x.upper())

    def step():
        names = Names()
        names.append("a")
        return names

    assert refused(step) == []


# Refused calls.


def calls_print(x):
    print("loss")


def calls_open(x):
    with open(__file__) as f:
        f.read()


def calls_clock(x):
    return time.perf_counter()


def calls_random(x):
    return random.random()


def calls_numpy(x):
    import numpy

    return numpy.zeros(3)


def calls_eval(x):
    return eval("1 + 1")


@pytest.mark.parametrize(
    "step, name",
    [
        (calls_print, "print"),
        (calls_open, "io.open"),
        (calls_clock, "time.perf_counter"),
        (calls_random, "random.Random.random"),
        (calls_numpy, "numpy.zeros"),
        (calls_eval, "eval"),
    ],
)
def test_refuses(step, name):
    found = refused(step, X)
    assert any(f"calls {name}," in r for r in found), found


def saves(x, path):
    torch.save(x, path)


def seeds(x):
    torch.manual_seed(1)


def test_refuses_effects_of_PyTorch_s_functions(tmp_path):
    (reason,) = refused(saves, X, str(tmp_path / "x.pt"))
    assert reason.startswith(f"test_observe.py:{saves.__code__.co_firstlineno + 1}: `torch.save(x, path)` calls torch.save,")
    (reason,) = refused(seeds, X)
    assert "calls torch.manual_seed," in reason


def test_a_refusal_names_file_line_and_source():
    (refusal,) = watch(calls_clock, X, calls=2).refusals
    assert refusal.path == f"test_observe.py:{calls_clock.__code__.co_firstlineno + 1}"
    assert refusal.reason.startswith("`return time.perf_counter()` calls time.perf_counter, ")


def test_refuses_what_a_standard_function_called_by_user_code_calls():
    found = watch(lambda: random.gauss(0.0, 1.0), calls=2).refusals  # gauss draws two numbers every other time
    assert found and all(r.path.startswith("random.py:") for r in found)


def starts_thread():
    thread = threading.Thread(target=len, args=("",))
    thread.start()
    thread.join()


def test_refuses_threads():
    assert any("starts a thread" in r for r in refused(starts_thread))


def test_refuses_threads_started_by_library_code():
    from torch.utils.data._utils import pin_memory  # any file of PyTorch's

    code = compile("def start(go): go()", pin_memory.__file__, "exec")
    scope = {}
    exec(code, scope)
    assert any("starts a thread" in r for r in refused(lambda: scope["start"](starts_thread)))


def test_library_code_may_call_anything():
    code = compile("def now(time): return time.time()", torch.__file__, "exec")
    scope = {}
    exec(code, scope)
    assert refused(lambda: scope["now"](time)) == []


def test_standard_code_called_by_library_code_is_the_library_s():
    code = compile("def draw(random): return random.gauss(0.0, 1.0)", torch.__file__, "exec")
    scope = {}
    exec(code, scope)
    observed = watch(lambda: scope["draw"](random))
    assert observed.refusals == []
    assert random.Random.gauss.__code__ in observed.library_codes
    assert random.Random.gauss.__code__ not in observed.codes


# Whose code.


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x) * SCALE


SCALE = 2.0
MODEL = Model()


def test_code_of_users_and_of_the_library():
    observed = watch(lambda x: MODEL(x), X)
    assert Model.forward.__code__ in observed.codes
    assert torch.nn.Linear.forward.__code__ in observed.library_codes
    assert torch.nn.Linear.forward.__code__ not in observed.codes
    assert {"fc", "SCALE", "MODEL"} <= observed.names
    assert "linear" not in observed.names


def test_records_the_globals_of_each_function():
    source = compile("def scale(x): return x * FACTOR", "<helper>", "exec")
    scopes = [{"FACTOR": 2}, {"FACTOR": 3}]
    for scope in scopes:
        exec(source, scope)
    functions = [scope["scale"] for scope in scopes]
    observed = watch(lambda x: [f(x) for f in functions], X)
    found = [dicts for code, dicts in observed.user_codes() if code.co_name == "scale"]
    assert sum(len(d) for d in found) == 2


def test_names_of_nested_code_count_though_it_has_not_run():
    def step(x):
        def never():
            return x.some_attribute

        return x

    assert "some_attribute" in watch(step, X).names


def test_imports_are_not_observed():
    sys.modules.pop("this", None)

    def step():
        import colorsys  # noqa: F401

    sys.modules.pop("colorsys", None)
    observed = watch(step, calls=1)
    assert [c.co_name for c in observed.codes] == ["step"]
    assert observed.refusals == []


def test_a_standard_function_that_the_library_calls_for_the_user():
    scope = {}
    exec(compile("def watch(observed, f):\n  with observed.watching(): f()", torch.__file__, "exec"), scope)
    observed = Observed()
    scope["watch"](observed, functools.partial(random.gauss, 0.0, 1.0))
    assert random.Random.gauss.__code__ in observed.codes


def test_what_starts_the_watch_is_not_of_the_call():
    observed = Observed()
    with observed.watching():
        time.time()
    assert observed.refusals == []


def test_imports_of_what_is_loaded_are_not_observed():
    def step():
        from torch.nn import functional  # noqa: F401

    observed = watch(step)
    assert [c.co_name for c in observed.codes] == ["step"]


# Attributes by computed names.


def asks_constant(x):
    return getattr(x, "tag", None), hasattr(x, "flag")


def asks_computed(x):
    return [getattr(x, "n" + str(i), None) for i in range(2)]


def asks_vars(x):
    return vars(x)


def asks_dict(x):
    return x.__dict__


class Thing:
    pass


def test_constant_names_are_known():
    summary = watch(asks_constant, Thing()).summary
    assert not summary.reads_all
    assert summary.tested == {"tag", "flag"}
    assert {"tag", "flag"} <= summary.names


@pytest.mark.parametrize("step", [asks_computed, asks_vars, asks_dict, lambda x: copy.copy(x), lambda x: list(map(getattr, [x], ["a"], [0]))])
def test_computed_names_read_everything(step):
    assert watch(step, Thing()).summary.reads_all


def test_computed_names_of_functools_are_of_no_user_s_objects():
    def step(x):
        @functools.wraps(saves)
        def inner(x):
            return x

        return inner(x)

    assert not watch(step, X).summary.reads_all


# Profilers.


def test_refuses_another_profiler():
    observed = Observed()
    sys.setprofile(lambda *args: None)
    try:
        with observed.watching():
            uses_torch(X)
        assert sys.getprofile() is not None
    finally:
        sys.setprofile(None)
    assert "a profile function is set" in observed.refusals[0].reason
    assert not observed.codes


def test_watches_nest():
    inner = Observed()

    def step(x):
        with inner.watching():
            return uses_torch(x)

    outer = watch(step, X, calls=1)
    assert uses_torch.__code__ in inner.codes & outer.codes
    assert step.__code__ in outer.codes - inner.codes
    assert sys.getprofile() is None


def test_an_exception_ends_the_watch():
    with pytest.raises(ZeroDivisionError):
        watch(lambda: 1 / 0)
    assert sys.getprofile() is None
