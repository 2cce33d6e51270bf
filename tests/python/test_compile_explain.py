"""explain() of a compiled function has a reason for every call that ran the function; custom functions in compiled
steps."""

import os
import re
import subprocess
import sys
import warnings

import pytest

import shunt
from compiling import hits, unchecked
from shunt.utils._python_dispatch import TorchDispatchMode

WATCHED = "it was watched, as such arguments, or values that the function reads, were seen for the first time"


def listed(function):
    """Calls that ran the function by the reasons that explain() lists, and in all."""
    text = function.explain()
    calls = re.findall(r"^ +(\d+) calls? ran the function(?:: |\b)", text, re.M)
    return sum(map(int, calls)), function.counts()["eager"]


def affine(x, k=2.0):
    return (x * k + 1).relu()


def test_not_called_yet():
    assert unchecked(affine).explain() == "affine:\n  not called yet"


def test_the_first_calls():
    f = unchecked(affine)
    for _ in range(4):
        f(shunt.ones(2))
    assert f.explain() == f"""\
affine:
  variant 0: {f._specializations[0].num_guards()} guards of Python's state
    affine: 2 calls ran a graph, 1 the function
      1 call ran the function: such arguments were seen for the first time
    variant 0 for Float[2], 0 captured tensors, grad mode on: 3 operators
  1 call ran the function: {WATCHED}"""
    assert listed(f) == (2, 2)


def test_other_sizes_in_each_call():
    f = unchecked(affine)
    for n in range(1, 7):
        f(shunt.ones(n))
    assert f.explain().endswith(f"""\
    affine: 0 calls ran a graph, 5 the function
      5 calls ran the function: such arguments were seen for the first time
    no graph yet: 1 call with such arguments found no graph; the next one is recorded (the option record_after)
    5 calls had arguments that no call before had, and sizes or strides of tensor 0 of the arguments changed 4 times: \
each size needs a graph, so use few sizes, for example by padding
  1 call ran the function: {WATCHED}""")
    assert listed(f) == (6, 6)


def test_other_whole_numbers_in_each_call():
    f = unchecked(affine)
    with pytest.warns(UserWarning, match="max_variants"):
        for k in range(12):
            f(shunt.ones(2), k)
    assert "  8 calls ran the function: " + WATCHED in f.explain()
    assert "  4 calls ran the function: there are 8 variants (max_variants) for other values of " in f.explain()
    assert listed(f) == (12, 12)


def test_a_function_without_a_graph():
    def reads(x):
        return x * x.sum().item()
    f = unchecked(reads)
    with pytest.warns(UserWarning, match="item"):
        for _ in range(5):
            f(shunt.ones(2))
    assert "test_compile_explain.py" in f.explain() and "item()" in f.explain()
    assert hits(f) == 0 and listed(f) == (5, 5)


def test_a_function_that_is_left_alone():
    f = unchecked(lambda x: print(end="") or x * 2)
    for _ in range(5):
        f(shunt.ones(2))
    assert "runs without a graph: " in f.explain() and "print" in f.explain()
    assert "    4 calls ran the function since then" in f.explain()
    assert listed(f) == (5, 5)


def test_under_a_mode():
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))
    f = unchecked(affine)
    for _ in range(3):
        f(shunt.ones(2))
    with Mode():
        for _ in range(3):
            f(shunt.ones(2))
    assert "      3 calls ran the function: a dispatch mode, or a key that a guard includes, was on\n" in f.explain()
    assert listed(f) == (5, 5)


def test_switched_off():
    program = """
import shunt
f = shunt.compile(lambda x: x + 1, name="f")
for _ in range(3):
    f(shunt.ones(2))
print(f.explain())
print(f.counts()["eager"])
"""
    run = subprocess.run([sys.executable, "-c", program], env={**os.environ, "SHUNT_COMPILE": "0"}, capture_output=True,
                         text=True, timeout=100, check=True)
    assert run.stdout == """\
f:
  SHUNT_COMPILE=0: all calls run the function
  3 calls ran the function without a look at the arguments
3
"""


class Cubed(shunt.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x * x * factor

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * x * x * (3 * ctx.factor), None


def make_step(w):
    def step(x):
        w.grad = None
        loss = Cubed.apply(x @ w, 0.5).sum()
        loss.backward()
        with shunt.no_grad():
            w.sub_(w.grad * 0.01)
        return loss
    return step


def test_a_step_with_a_custom_function_returns_its_loss():
    start = shunt.randn(3, 2)
    plain, w = start.clone().requires_grad_(), start.clone().requires_grad_()
    step, fast = make_step(plain), unchecked(make_step(w))
    for _ in range(6):
        x = shunt.randn(4, 3)
        expected, loss = step(x), fast(x)
        assert loss.requires_grad and loss.item() == expected.item(), fast.explain()
        assert shunt.equal(plain, w)
        with pytest.raises(RuntimeError) as eager:
            expected.backward()
        with pytest.raises(RuntimeError) as compiled:
            loss.backward()
        assert str(compiled.value) == str(eager.value) and "a second time" in str(eager.value)
    assert hits(fast) == 4, fast.explain()


def test_a_history_that_goes_on_through_a_custom_function():
    w = shunt.randn(3, requires_grad=True)
    f = unchecked(lambda x: Cubed.apply(x * w, 2.0).sum())
    with pytest.warns(UserWarning, match="runs without a graph"):
        for _ in range(4):
            f(shunt.ones(3)).backward()
    assert hits(f) == 0
    assert ("the history of a result goes on through the custom autograd function "
            "CubedBackward, whose node no graph can make: call backward() inside of the function, or return the result "
            "detached\n") in f.explain()
    detached = unchecked(lambda x: Cubed.apply(x * w, 2.0).sum().detach())
    for _ in range(4):
        detached(shunt.ones(3))
    assert hits(detached) == 2, detached.explain()


def test_calls_that_change_what_the_function_reads():
    state = {"calls": 0}

    def counts(x):
        state["calls"] += 1
        return x * state["calls"]
    f = unchecked(counts)
    with pytest.warns(UserWarning, match="which a graph wouldn't do"):
        for _ in range(8):
            f(shunt.ones(2))
    assert f.explain() == f"""\
test_calls_that_change_what_the_function_reads.<locals>.counts:
  2 calls ran the function without a look at the arguments
  runs without a graph: the function changes state['calls']: expected 5, got 6, which a graph wouldn't do
  3 calls ran the function, and changed what it reads: state['calls']: expected 5, got 6
  3 calls ran the function: {WATCHED}"""
    assert f.counts()["eager"] == 8


def test_a_step_whose_rate_is_an_input():
    w = shunt.ones(2, requires_grad=True)
    optimizer = shunt.optim.SGD([w], lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()
    f = unchecked(step)
    for i in range(20):
        optimizer.param_groups[0]["lr"] = 0.1 / (1 + i)
        f(shunt.ones(2))
    variant = f._specializations[0]
    operators = re.search(r"(\d+) operators", f.explain())[1]
    assert f.explain() == f"""\
test_a_step_whose_rate_is_an_input.<locals>.step:
  variant 0: {variant.num_guards()} guards of Python's state
    inputs of the graph for floats that took many values: optimizer.param_groups[0]['lr']
    {f._name}: 15 calls ran a graph, 1 the function
      1 call ran the function: such arguments were seen for the first time
    variant 0 for Float[2], 2 captured tensors, grad mode on: {operators} operators
  3 variants were watched, and not called again
  4 calls ran the function: {WATCHED}"""
    assert listed(f) == (5, 5)


def test_a_variant_for_each_value():
    f = unchecked(lambda x, k: x * 2 if k > 2 else x)
    for _ in range(4):
        for k in (1.0, 2.0, 3.0, 4.0):
            f(shunt.ones(2), k)
    line = test_a_variant_for_each_value.__code__.co_firstlineno + 1
    assert f"""
  a variant for each value of k, as no tensor can take its place: test_compile_explain.py:{line} \
`f = unchecked(lambda x, k: x * 2 if k > 2 else x)`: the float k is compared
""" in f.explain()
    assert "\n  1 call ran the function: a graph for all values of a float was to be recorded, which failed" in (
        f.explain())
    assert listed(f)[0] == listed(f)[1] == 16 - hits(f), f.explain()


BUFFERS = {"a": 1}


def test_other_keys():
    def function(x):
        for v in BUFFERS.values():
            x = x * v
        return x
    f = unchecked(function)
    with pytest.warns(UserWarning) as seen:
        for i in range(12):
            BUFFERS[f"a{i}"] = 2
            f(shunt.ones(2))
    reason = "there are 8 variants (max_variants) for other keys of BUFFERS"
    assert [str(w.message) for w in seen] == [
        f"shunt.compile: {f._name} runs without a graph from now on where no variant fits: {reason}"]
    assert f.explain() == f"""\
{f._name}:
  8 variants were watched, and not called again
  8 calls ran the function: {WATCHED}
  4 calls ran the function: {reason}
  the last call that no variant fitted: keys of BUFFERS: expected 9, got 13"""


class Config:
    def __init__(self, k):
        self.k = k


def test_what_to_do_about_values():
    def warned(function, *arguments):
        f = shunt.compile(function, name="f", options={"check": "never"})
        with pytest.warns(UserWarning) as seen:
            for given in arguments:
                f(*given)
        assert len(seen) == 1
        return str(seen[0].message).removeprefix(
            "shunt.compile: f runs without a graph from now on where no variant fits: there are 8 variants "
            "(max_variants) ")
    x = shunt.ones(2)
    assert warned(lambda x, d: x * d.k, *[(x, Config(float(i))) for i in range(9)]) == (
        "for other values of d. Pass a number that changes from call to call as an argument, or keep it in a tensor, "
        "such as lr=shunt.tensor(0.1) of an optimizer")
    assert warned(lambda x, n: x * n, *[(x, i) for i in range(9)]) == (
        "for other values of n. Keep a number that changes from call to call in a tensor")
    assert warned(lambda *x: x[0] * 2, *[(x,) * i for i in range(1, 10)]) == "for other arguments"


def reason_of(function, *arguments):
    """What explain() says after "not recorded: "."""
    f = unchecked(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            f(*[x.detach().clone().requires_grad_(x.requires_grad) for x in arguments])
    return re.search(r"^ +not recorded: (.*)$", f.explain(), re.M)[1]


def test_the_lines_of_reasons():
    def changes(x):
        return x.requires_grad_() * 2

    def differentiates(x):
        return Cubed.apply(x, 2.0)

    def reads(x):
        return x * x.sum().item() + 0 * x + 0 * x + 0 * x + 0 * x + 0 * x + 0 * x + 0 * x + 0 * x + 0 * x + 0 * x

    file = "test_compile_explain.py"
    x = shunt.ones(2)
    assert reason_of(changes, x) == (
        f"compile: {file}:{changes.__code__.co_firstlineno + 1} `return x.requires_grad_() * 2`: the function changes "
        "whether a tensor that it is given requires grad")
    if sys.version_info >= (3, 11):
        line = Cubed.forward.__code__.co_firstlineno + 1
        assert reason_of(differentiates, x.clone().requires_grad_()).startswith(
            f"compile: {file}:{line} `def forward(ctx, x, factor):`: the history of a result goes on through the "
            "custom autograd function CubedBackward, whose node no graph can make: ")
    assert reason_of(reads, x) == (
        f"{file}:{reads.__code__.co_firstlineno + 1} `return x * x.sum().item() + 0 * x + 0 * x + 0 * x + 0 * x + 0 * "
        "x + 0 * x + 0 * x + 0 * x + 0 * x...`: item(), operator aten::_local_scalar_dense: it returns a number, and "
        "compile() records operators, not numbers. Compute with tensors of fixed sizes instead (where(), "
        "masked_fill(), clamp()), or call item() outside of the compiled function")
