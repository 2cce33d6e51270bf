"""shunt.compile: what runs as a graph, what doesn't, and why; results are those of the function to the bit."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import warnings
import weakref
from collections import namedtuple

import pytest

import shunt
from compiling import compiled, facts, hits, unchecked, warm
from shunt.utils import _pytree as pytree

Pair = namedtuple("Pair", ["first", "second"])


def affine(x, k=2.0):
    return (x * k + 1).relu()


def test_the_third_call_runs_a_graph():
    f = unchecked(affine)
    x = shunt.randn(4, 3)
    for i in range(5):
        assert facts(f(x)) == facts(affine(x))
        assert hits(f) == max(0, i - 1)
    assert "aten::relu" in f.graph() and "aten::relu" in f.plan()
    assert "3 calls ran a graph" in f.explain()


def test_it_is_a_decorator_with_and_without_options():
    @shunt.compile
    def f(x):
        """Doubles."""
        return x * 2

    @shunt.compile(fullgraph=True, dynamic=False, mode="max-autotune", backend="inductor",
                   options={"epilogue_fusion": True})
    def g(x):
        return x * 3

    x = shunt.randn(3)
    assert warm(f, x).tolist() == (x * 2).tolist() and warm(g, x).tolist() == (x * 3).tolist()
    assert hits(f) == hits(g) == 1
    assert f.__name__ == "f" and f.__doc__ == "Doubles."
    assert shunt.compile(affine, disable=True) is affine


def test_other_sizes_dtypes_and_grad_modes_are_other_variants():
    f = unchecked(affine)
    for x in (shunt.randn(3), shunt.randn(2, 5), shunt.randn(3, dtype=shunt.float64),
              shunt.randn(3, requires_grad=True)):
        before = hits(f)
        for _ in range(4):
            assert facts(f(x)) == facts(affine(x))
        assert hits(f) > before
    with shunt.no_grad():
        assert not warm(f, x).requires_grad


def test_arguments_that_are_no_tensors_are_compared():
    f = unchecked(lambda x, k, name=None, flags=(): x * k if name is None else x + len(flags))
    x = shunt.randn(3)
    for call in (lambda: f(x, 2), lambda: f(x, 3), lambda: f(x, 2.0), lambda: f(x, True),
                 lambda: f(x, 1, name="a", flags=(1, 2)),
                 lambda: f(x, 1, flags=[1], name="a")):
        warm(call)
    assert f(x, 2).tolist() == (x * 2).tolist() and f(x, 3).tolist() == (x * 3).tolist()
    assert f(x, 1, name="a", flags=(1, 2)).tolist() == (x + 2).tolist()
    assert f(x, 1, flags=[1], name="a").tolist() == (x + 1).tolist()


def test_containers_of_tensors_are_arguments_and_results():
    def function(pair, table, items):
        total = sum(items[1:], items[0])
        return {"sum": total, "pair": Pair(pair.first * 2, [table["a"]]), "n": len(items), "none": None}

    f = unchecked(function)
    x, y = shunt.randn(3), shunt.randn(3)
    args = Pair(x, y), {"a": x, "b": 1}, [x, y, x]
    got, want = warm(f, *args), function(*args)
    assert hits(f) == 1 and type(got["pair"]) is Pair and list(got) == list(want)
    assert got["sum"].tolist() == want["sum"].tolist() and got["pair"].second[0] is x and got["n"] == 3
    args[2].append(y)
    assert f(*args)["n"] == 4


def test_results_of_registered_classes_are_put_together():
    class Box:
        def __init__(self, value, tag):
            self.value, self.tag = value, tag
    pytree.register_pytree_node(Box, lambda b: ([b.value], b.tag), lambda c, tag: Box(c[0], tag))
    try:
        f = unchecked(lambda x: Box(x * 2, "t"))
        x = shunt.randn(3)
        got = warm(f, x)
        assert hits(f) == 1 and got.value.tolist() == (x * 2).tolist() and got.tag == "t"
    finally:
        pytree._deregister_pytree_node(Box)


def test_other_results_are_refused():
    f = unchecked(lambda x: {1, 2})
    assert warm(f, shunt.randn(3)) == {1, 2} and hits(f) == 0
    assert "returns a set" in f.explain()


def test_what_is_returned_may_be_an_argument_or_captured():
    w = shunt.randn(3)
    f = unchecked(lambda x: (x, w, x))
    x = shunt.randn(3)
    got = warm(f, x)
    assert hits(f) == 1 and got[0] is x and got[1] is w and got[2] is x


def test_a_branch_on_values_runs_the_function_and_names_the_line():
    def function(x):
        if x.sum() > 0:  # the line
            return x * 2
        return x * 3

    f = unchecked(function)
    for sign in (1, -1, 1, -1, 1):
        x = shunt.ones(3) * sign
        assert f(x).tolist() == (x * (2 if sign > 0 else 3)).tolist()
    assert hits(f) == 0
    assert "# the line" in f.explain() and "test_compile.py" in f.explain()
    with pytest.raises(RuntimeError, match="the line"):
        warm(shunt.compile(function, fullgraph=True), shunt.ones(3), times=4)


@pytest.mark.parametrize("read",
                         [lambda x: x.sum().item(), lambda x: float(x.sum()), lambda x: x.tolist(),
                          lambda x: int(x.argmax()),
                                  lambda x: bool((x > 0).any()), lambda x: x.nonzero()])
def test_reading_values_runs_the_function(read):
    f = unchecked(lambda x: (x * 2, read(x)))
    assert warm(f, shunt.randn(3), times=5) is not None
    assert hits(f) == 0 and "runs" in f.explain()


def test_branches_on_sizes_are_followed():
    f = unchecked(lambda x: x * 2 if x.shape[0] > 2 else x * 3)
    assert warm(f, shunt.ones(3)).tolist() == [2.0] * 3
    assert warm(f, shunt.ones(2)).tolist() == [3.0] * 2
    assert hits(f) == 3


def step_of(w, momentum, lr):
    def step(x, y):
        w.grad = None
        loss = ((x @ w).tanh() - y).square().mean()
        loss.backward()
        with shunt.no_grad():
            momentum.mul_(0.9).add_(w.grad)
            w.sub_(momentum * lr)
        return loss.detach()
    return step


def test_training_steps_are_graphs():
    shunt.manual_seed(3)
    start, xs, ys = shunt.randn(4, 2), shunt.randn(8, 5, 4), shunt.randn(8, 5, 2)
    found = []
    for make in (lambda s: s, unchecked, compiled):
        w, momentum = start.clone().requires_grad_(), shunt.zeros(4, 2)
        step = make(step_of(w, momentum, 0.1))
        losses = [step(xs[i % 8], ys[i % 8]).item() for i in range(12)]
        found.append((losses, facts(w), facts(momentum), facts(w.grad), w._version))
        if make is not unchecked:
            continue
        assert hits(step) == 10, step.explain()
    assert found[0] == found[1] == found[2]


def test_backward_outside_runs_a_compiled_pass():
    w = shunt.randn(3, 2, requires_grad=True)
    f = unchecked(lambda x: (x @ w).tanh().sum())
    x = shunt.randn(5, 3, requires_grad=True)
    for _ in range(5):
        w.grad = x.grad = None
        f(x).backward()
    got = facts(w.grad), facts(x.grad)
    w.grad = x.grad = None
    (x @ w).tanh().sum().backward()
    assert hits(f) >= 3 and got == (facts(w.grad), facts(x.grad))


def test_random_numbers_are_those_of_the_function():
    f = unchecked(lambda x: x + shunt.rand(3) * shunt.randn(3))
    x = shunt.zeros(3)
    shunt.manual_seed(7)
    got = [f(x).tolist() for _ in range(6)]
    shunt.manual_seed(7)
    assert got == [(x + shunt.rand(3) * shunt.randn(3)).tolist() for _ in range(6)]
    assert hits(f) == 4


def test_in_place_writes_to_arguments_are_done():
    def function(x, out):
        out.mul_(2).add_(x)
        out[0] = 5.0
        return out

    f = unchecked(function)
    x, out, expected = shunt.randn(3), shunt.zeros(3), shunt.zeros(3)
    for _ in range(5):
        assert f(x, out) is out
        function(x, expected)
        assert facts(out) == facts(expected) and out._version == expected._version
    assert hits(f) == 3


def test_an_exception_is_the_functions():
    def function(x, fails):
        y = x * 2
        if fails:
            raise KeyError("mine")
        return y

    f = unchecked(function)
    x = shunt.randn(3)
    for _ in range(4):
        with pytest.raises(KeyError, match="mine"):
            f(x, True)
    assert warm(f, x, False).tolist() == (x * 2).tolist()


def test_an_operators_error_is_the_functions():
    f = unchecked(lambda x, i: x[i] if False else x.index_select(0, i))
    x = shunt.randn(3)
    warm(f, x, shunt.arange(2))
    with pytest.raises((IndexError, RuntimeError)):
        f(x, shunt.arange(2) + 5)
    assert f(x, shunt.arange(2)).tolist() == x[:2].tolist()


def test_recursion_and_nesting():
    def down(x, n):
        return x if n == 0 else fast(x * 2, n - 1)
    fast = unchecked(down)
    x = shunt.randn(3)
    assert warm(fast, x, 3).tolist() == (x * 8).tolist() and hits(fast) >= 1
    inner = unchecked(lambda x: x + 1)
    outer = unchecked(lambda x: inner(x) * 2)
    assert warm(outer, x).tolist() == ((x + 1) * 2).tolist() and hits(outer) == 1 and "aten::add" in outer.graph()


class Model:
    def __init__(self, k):
        self.w = shunt.full([3], float(k))

    @shunt.compile
    def forward(self, x):
        return x * self.w

    def __call__(self, x):
        return self.forward(x)


def test_methods_have_a_graph_for_each_object():
    models = [Model(k) for k in range(12)]
    x = shunt.randn(3)
    for m in models:
        assert warm(m.forward, x).tolist() == (x * m.w).tolist()
        assert hits(m.forward) == 1
    model = copy.copy(models[3])
    model.w = shunt.full([3], 100.0)
    assert model.forward(x).tolist() == (x * 100).tolist()
    reference = weakref.ref(models[5])
    del models, m
    gc.collect()
    assert reference() is None


def test_callable_objects_are_compiled():
    model = Model(4)
    f = unchecked(model)
    x = shunt.randn(3)
    assert warm(f, x).tolist() == (x * 4).tolist()
    assert f.w is model.w


def module_level(x):
    return x + 1


fast_module_level = shunt.compile(module_level)


def test_copies_and_pickles():
    assert copy.deepcopy(fast_module_level) is fast_module_level
    bound = copy.copy(Model(2)).forward
    assert bound(shunt.ones(3)).tolist() == [2.0] * 3
    with pytest.raises(Exception):
        pickle.dumps(unchecked(lambda x: x))


def test_disabled_functions_keep_graphs_away():
    @shunt.compiler.disable
    def helper(x):
        return x * 2
    assert shunt.compile(helper) is helper
    f = unchecked(lambda x: helper(x) + 1)
    assert warm(f, shunt.ones(3), times=5).tolist() == [3.0] * 3
    assert hits(f) == 0 and "disable" in f.explain()


def test_is_compiling_says_so_while_it_is_recorded():
    seen = []

    def function(x):
        seen.append(shunt.compiler.is_compiling()) if False else None
        return x * (2 if shunt.compiler.is_compiling() else 2)
    f = unchecked(function)
    assert not shunt.compiler.is_compiling()
    assert warm(f, shunt.ones(3)).tolist() == [2.0] * 3 and hits(f) == 1


def test_transforms_inside_and_outside():
    from shunt.func import grad, vmap
    w, xs = shunt.randn(3), shunt.randn(5, 3)

    def loss(w, x):
        return (w * x).sin().sum()
    per_sample = vmap(grad(loss), in_dims=(None, 0))
    f = unchecked(per_sample)
    assert facts(warm(f, w, xs)) == facts(per_sample(w, xs))
    assert hits(f) == 1, f.explain()
    inner = unchecked(loss)
    warm(inner, w, xs[0])
    before = hits(inner)
    assert grad(inner)(w, xs[0]).tolist() == grad(loss)(w, xs[0]).tolist()
    assert vmap(inner, in_dims=(None, 0))(w, xs).tolist() == vmap(loss, in_dims=(None, 0))(w, xs).tolist()
    assert hits(inner) == before


def test_no_grad_inside():
    w = shunt.randn(3, requires_grad=True)

    def function(x):
        with shunt.no_grad():
            y = x * w
        return y + w, y
    f = unchecked(function)
    got = warm(f, shunt.ones(3))
    assert hits(f) == 1 and got[0].requires_grad and not got[1].requires_grad


def test_threads_call_one_function():
    f = unchecked(affine)
    x = shunt.randn(64)
    want, wrong = facts(affine(x)), []

    def run():
        for _ in range(200):
            if facts(f(x)) != want:
                wrong.append(1)
    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and hits(f) > 0


def test_many_values_of_a_float_become_a_tensor():
    f = unchecked(lambda x, lr: x * lr - x / (1 + lr))
    x = shunt.randn(6)
    for i in range(40):
        lr = 0.1 + i * 0.37
        assert facts(f(x, lr)) == facts(x * lr - x / (1 + lr))
    assert len(f._specializations) == 4 and hits(f) > 20


def test_many_values_of_an_int_are_bounded():
    f = unchecked(lambda x, k: x * k)
    x = shunt.randn(3)
    for _ in range(3):
        for k in range(20):
            assert f(x, k).tolist() == (x * k).tolist()
    assert len(f._specializations) == 8 and "max_variants" in f.explain()


def test_a_keyword_is_part_of_the_call():
    f = unchecked(lambda x, *, y=None, scale=1.0: x * scale + (0 if y is None else y))
    x = shunt.randn(3)
    assert warm(f, x, y=x).tolist() == (x + x).tolist()
    assert warm(f, x, scale=2.0).tolist() == (x * 2.0 + 0).tolist()
    assert warm(f, x=x, scale=2.0).tolist() == (x * 2.0 + 0).tolist()
    with pytest.raises(TypeError):
        f(x, z=1)


def test_errors_of_options():
    with pytest.raises(TypeError, match="callable"):
        shunt.compile(3)
    with pytest.raises(ValueError, match="record_after"):
        shunt.compile(affine, options={"record_after": -1})
    with pytest.raises(ValueError, match="check"):
        shunt.compile(affine, options={"check": "sometimes"})
    with pytest.raises(NotImplementedError):
        shunt.compile(affine, backend=lambda gm, inputs: gm)


def test_subclasses_of_tensor_run_the_function():
    class Mine(shunt.Tensor):
        pass
    f = unchecked(affine)
    x = shunt.randn(3)
    tagged = shunt.randn(3)
    tagged.tag = 1
    assert warm(f, tagged, times=5).tolist() == affine(tagged).tolist() and hits(f) == 0
    assert "attributes" in f.explain()
    assert warm(f, x).tolist() == affine(x).tolist()


def test_reset_forgets():
    f = unchecked(affine)
    warm(f, shunt.randn(3))
    shunt.compiler.reset()
    assert f.graph() is None and hits(f) == 0
    warm(f, shunt.randn(3))
    assert hits(f) == 1


def test_a_function_goes_when_nobody_has_it():
    def make():
        w = shunt.randn(3)
        f = unchecked(lambda x: x * w)
        warm(f, w)
        return weakref.ref(f), weakref.ref(w)
    references = make()
    gc.collect()
    assert [r() for r in references] == [None, None]


@pytest.mark.parametrize("check", ["first", "always", "never"])
@pytest.mark.parametrize("counter", [[0], bytearray(1)], ids=["list", "bytearray"])
def test_a_counter_counts_each_call_once(check, counter):
    counter[0] = 0

    def function(x):
        counter[0] += 1
        return x + float(counter[0])

    f = shunt.compile(function, options={"check": check})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [f(shunt.zeros(1)).item() for _ in range(6)]
    assert results == [1, 2, 3, 4, 5, 6]
    assert counter[0] == 6


CHECKED = """
import shunt
counter = [0]
class Noise:
    k = 1.0
f = shunt.compile(lambda x: x * 2)
x = shunt.ones(3)
for _ in range(5):
    assert f(x).tolist() == [2.0] * 3
print(f.counts()["hits"])
"""


@pytest.mark.parametrize("variables, expected", [({"SHUNT_COMPILE": "0"}, "0"), ({"SHUNT_COMPILE": "No"}, "0"),
                                                 ({"SHUNT_COMPILE_CHECK": "1"}, "3"),
                                                 ({"SHUNT_COMPILE_RECORD_AFTER": "2"}, "2"), ({}, "3")])
def test_variables_of_the_environment(variables, expected):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SHUNT_COMPILE")}
    out = subprocess.run([sys.executable, "-c", CHECKED], env={**environment, **variables}, capture_output=True,
                         text=True)
    assert out.stdout.strip() == expected, out.stderr


THREADS = """
import gc, random, sys, threading
import shunt
sys.setswitchinterval(1e-5)
x, big = shunt.randn(16), shunt.randn(200, 200)


def make():
    w = shunt.randn(16)
    return shunt.compile(lambda x, k=1.0: (x * w * k).tanh().sum(), options={"check": "first"}), w


functions = [make() for _ in range(6)]
product = shunt.compile(lambda m: (m.mm(m) + m).relu().sum())
refused = shunt.compile(lambda x: x if x.sum() > 0 else -x)
wrong = []


def run(seed):
    r = random.Random(seed)
    for i in range(300):
        f, w = r.choice(functions)
        k = r.choice([1.0, 2.0, 3.0, 0.5, 7.0, 9.0])
        if f(x, k).item() != (x * w * k).tanh().sum().item():
            wrong.append((seed, i))
        refused(x)
        if i % 50 == 0:
            product(big)
        if i % 100 == 0:
            gc.collect()
        if i % 90 == 0:
            r.choice(functions)[0].reset()


threads = [threading.Thread(target=run, args=(s,)) for s in range(5)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(wrong)
"""


def test_threads_that_compile_call_and_reset_end():
    out = subprocess.run([sys.executable, "-W", "ignore", "-c", THREADS], capture_output=True, text=True, timeout=240)
    assert out.stdout.strip() == "[]", out.stderr
