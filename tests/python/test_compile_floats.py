"""Floats that change, in compiled functions: each operator has the bits that it has with the number; a float whose
value is looked at has variants; floats in closures, lists, classes and tuples become inputs of a graph, too."""

import math
import operator
import warnings
from collections import deque

import pytest

import shunt
from compiling import hits, unchecked

FLOATING = (shunt.float32, shunt.float64, shunt.float16, shunt.bfloat16)
OTHERS = (shunt.int64, shunt.int8, shunt.uint8, shunt.bool)
# The last ones are halfway between two numbers of float16, bfloat16 and float32, and a little more.
VALUES = (0.1, 0.3, 1 / 3, -0.7, 2.5, 1e-8, 123456.789, 1e39, 1e-46, -0.0, math.inf, math.nan, 1 + 2**-11 + 2**-30,
          1 + 2**-8 + 2**-40, 1 + 2**-24 + 2**-50)


def bits(t):
    """A result to the bit."""
    if isinstance(t, (tuple, list)):
        return [bits(x) for x in t]
    memory = t.detach().contiguous().reshape(-1).view(shunt.uint8).tolist()
    return memory, t.dtype, tuple(t.shape), t.stride(), t.requires_grad


def changed(x, change):
    y = x.clone()
    result = change(y)
    return y if result is None else [y, result]


def in_place(operation):
    def function(x, y, k):
        def change(z):
            shared = z  # `z *= k` must change what both names have
            z = operation(z, k)
            assert z is shared
        return changed(x, change)
    return function


ARITHMETIC = {
    "x+k": lambda x, y, k: x + k, "k+x": lambda x, y, k: k + x, "x-k": lambda x, y, k: x - k,
    "k-x": lambda x, y, k: k - x, "x*k": lambda x, y, k: x * k, "k*x": lambda x, y, k: k * x,
    "x/k": lambda x, y, k: x / k, "k/x": lambda x, y, k: k / x, "-k*x": lambda x, y, k: -k * x,
    "(1-k)*x": lambda x, y, k: (1 - k) * x, "x*(k*k+k/2)": lambda x, y, k: x * (k * k + k / 2),
    "x*abs(k)": lambda x, y, k: x * abs(k), "operator.mul": lambda x, y, k: operator.mul(k, x),
    "sum": lambda x, y, k: x * sum([k, k]),
    "mul": lambda x, y, k: shunt.mul(x, k), "x.mul": lambda x, y, k: x.mul(k),
    "x.mul(other=)": lambda x, y, k: x.mul(other=k), "multiply": lambda x, y, k: shunt.multiply(x, k),
    "mul(k, x)": lambda x, y, k: shunt.mul(k, x), "div": lambda x, y, k: shunt.div(x, k),
    "div(k, x)": lambda x, y, k: shunt.div(k, x), "x.div": lambda x, y, k: x.div(k),
    "true_divide": lambda x, y, k: x.true_divide(k), "add": lambda x, y, k: shunt.add(x, k),
    "add(k, x)": lambda x, y, k: shunt.add(k, x), "add alpha=2": lambda x, y, k: shunt.add(x, k, alpha=2),
    "add alpha=.3": lambda x, y, k: x.double().add(k, alpha=0.3), "sub": lambda x, y, k: shunt.sub(x, k),
    "subtract": lambda x, y, k: x.subtract(k), "sub(k, x)": lambda x, y, k: shunt.sub(k, x),
    "rsub": lambda x, y, k: shunt.rsub(x, k), "mul out=None": lambda x, y, k: shunt.mul(x, k, out=None),
    "0-dim": lambda x, y, k: x[0] * k + y[1],
}
IN_PLACE = {
    "mul_": in_place(lambda z, k: z.mul_(k)), "add_": in_place(lambda z, k: z.add_(k)),
    "sub_": in_place(lambda z, k: z.sub_(k)), "div_": in_place(lambda z, k: z.div_(k)),
    "multiply_": in_place(lambda z, k: z.multiply_(k)), "iadd": in_place(operator.iadd),
    "isub": in_place(operator.isub), "imul": in_place(operator.imul), "itruediv": in_place(operator.itruediv),
    "add_ -alpha": lambda x, y, k: changed(x, lambda z: z.add_(y, alpha=-k)),
    "sub_ alpha": lambda x, y, k: changed(x, lambda z: z.sub_(y, alpha=k)),
    "addcmul_": lambda x, y, k: changed(x, lambda z: z.addcmul_(y, y + 1, value=k)),
    "addcdiv_": lambda x, y, k: changed(x, lambda z: z.addcdiv_(y, x + 2, value=-k)),
}
SCALED = {
    "add alpha": lambda x, y, k: x.add(y, alpha=k), "sub alpha": lambda x, y, k: shunt.sub(x, y, alpha=k),
    "add alpha, broadcast": lambda x, y, k: x.add(y[0], alpha=k),
    "add alpha, transposed": lambda x, y, k: x.reshape(2, -1).t().add(y.reshape(2, -1).t(), alpha=k),
    "add alpha, float64": lambda x, y, k: x.add(y.double(), alpha=k),
    "add_ alpha": lambda x, y, k: x.clone().add_(y, alpha=k),
    "add_ alpha, float64": lambda x, y, k: x.clone().add_(y.double(), alpha=k),
    "add alpha, int": lambda x, y, k: x.add(y.long(), alpha=k),
    "addcmul": lambda x, y, k: x.addcmul(y, y + 1, value=k),
    "addcdiv": lambda x, y, k: shunt.addcdiv(x, y, x + 2, value=k),
}


def check(function, x, y, is_lifted=True):
    """All values in turns, with the bits of the function; a graph runs for most of them, unless k can't be lifted."""
    f = unchecked(lambda x, y, k: function(x, y, k))
    for k in VALUES * 2:
        assert bits(f(x, y, k)) == bits(function(x, y, k)), k
    assert (hits(f) > len(VALUES)) == is_lifted and bool(f._never_lifted) != is_lifted, f.explain()


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
@pytest.mark.parametrize("name", [*ARITHMETIC, *IN_PLACE, *SCALED])
def test_bits_of_floating_dtypes(name, dtype):
    shunt.manual_seed(1)
    x, y = (3 * shunt.randn(64)).to(dtype), shunt.randn(64).to(dtype)
    check({**ARITHMETIC, **IN_PLACE, **SCALED}[name], x, y)


@pytest.mark.parametrize("dtype", OTHERS, ids=str)
@pytest.mark.parametrize("name", [name for name in ARITHMETIC if name not in ("k/x",)])
def test_bits_of_other_dtypes(name, dtype):
    shunt.manual_seed(1)
    if dtype == shunt.bool and name in ("x-k", "k-x", "sub", "subtract", "sub(k, x)", "rsub"):
        dtype = shunt.int32
    x, y = shunt.randint(0, 100, (64,)).to(dtype), shunt.ones(64, dtype=dtype)
    check(ARITHMETIC[name], x, y)


@pytest.mark.filterwarnings("ignore:shunt.compile")
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
@pytest.mark.parametrize("name", ["x*k", "x/k", "k/x", "k-x", "x.mul", *SCALED])
def test_bits_of_gradients(name, dtype):
    shunt.manual_seed(1)
    function = {**ARITHMETIC, **SCALED}[name]

    def differentiated(x, y, k):
        x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
        return [g.detach() for g in shunt.autograd.grad(function(x, y, k).square().sum(), (x, y), allow_unused=True)
                if g is not None]
    # The others round their gradients in another order than a product and a sum do.
    is_lifted = (name not in SCALED or name == "add alpha, float64" or dtype == shunt.float64 and "float64" in name
                 or dtype in (shunt.float32, shunt.float64)
                 and name in ("add alpha", "add_ alpha", "add alpha, transposed", "add alpha, int"))
    check(differentiated, shunt.randn(64).to(dtype), shunt.randn(64).to(dtype), is_lifted)


def test_sgd_by_hand():
    start, x = shunt.randn(4, 2), shunt.randn(8, 4)

    def step(w, x, lr):
        grad, = shunt.autograd.grad((x @ w).square().mean(), w)
        with shunt.no_grad():
            w.add_(grad, alpha=-lr)
        return grad
    w, plain = start.clone().requires_grad_(), start.clone().requires_grad_()
    f = unchecked(step)
    for i in range(30):
        assert bits(f(w, x, 0.1 / (1 + i))) == bits(step(plain, x, 0.1 / (1 + i)))
        assert bits(w) == bits(plain)
    assert hits(f) > 20, f.explain()


# ---- floats whose value is looked at -------------------------------------------------------------------------------

LOOKED_AT = {
    "is compared": lambda x, k: x * 2 if k > 0.25 else x * k,
    "is raised to a power, or is one": lambda x, k: x * k**2,
    "is an argument of pow()": lambda x, k: x**k,
    "is an argument of clamp()": lambda x, k: x.clamp(max=k),
    "is an argument of full()": lambda x, k: x + shunt.full((2,), k),
    "is an argument of add()": lambda x, k: x.add(3, alpha=k),
    "is read as a number": lambda x, k: x * float(k),
    "is asked for is_integer": lambda x, k: x * k.is_integer(),
    "is written as text": lambda x, k: x * len(f"{k}"),
    "is a key": lambda x, k: x * {0.1: 2.0}.get(k, 3.0),
    "divides a number": lambda x, k: x * (1 / k),
}


@pytest.mark.parametrize("what", LOOKED_AT)
def test_a_variant_for_each_value(what):
    function = LOOKED_AT[what]
    f = unchecked(function)
    x = shunt.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(200):
            k = 0.1 * (1 + i % 5)
            assert bits(f(x, k)) == bits(function(x, k))
    assert hits(f) > 180, f.explain()
    line = function.__code__.co_firstlineno
    start = f"  a variant for each value of k, as no tensor can take its place: test_compile_floats.py:{line} `"
    assert [t for t in f.explain().splitlines() if t.startswith(start) and t.endswith(f"`: the float k {what}")], \
        f.explain()


def test_errors_that_the_function_catches_and_passes_on():
    def catches(x, k):
        try:
            return x * 2 if k > 0.25 else x * k
        except Exception:
            return x

    def passes_on(x, k):
        try:
            return x * math.exp(k)
        except TypeError as error:
            raise ValueError("no number") from error
    for function in (catches, passes_on):
        f = unchecked(function)
        for i in range(100):
            k = 0.1 * (1 + i % 5)
            assert bits(f(shunt.ones(2), k)) == bits(function(shunt.ones(2), k))
        assert hits(f) > 80, f.explain()


def test_a_result():
    f = unchecked(lambda x, k: (x * k, {"k": k}))
    for i in range(60):
        k = 0.1 * (1 + i % 5)
        result, rest = f(shunt.ones(1), k)
        assert type(rest["k"]) is float and rest["k"] == k and result.item() == shunt.tensor([1.0]).mul(k).item()
    assert hits(f) > 40
    place = "as no tensor can take its place"
    assert f"\n  a variant for each value of k, {place}: the float k is returned\n" in f.explain()


def test_a_result_that_holds_itself():
    def function(x, k):
        result = [x * k]
        result.append({"again": result})
        return result
    f = unchecked(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(20):
            assert f(shunt.ones(1), 0.5 + i)[1]["again"][0].item() == 0.5 + i
    assert hits(f) == 0
    assert "not recorded: the function returns a container that holds itself, or is nested too deep\n" in f.explain()


def test_calls_that_raise_keep_nothing():
    def function(x, k):
        if x.shape == (3,):
            raise ValueError("no")
        return x * k
    f = unchecked(function)
    for i in range(20):
        with pytest.raises(ValueError):
            f(shunt.ones(3), 0.5 + i)
        assert f(shunt.ones(1), 0.5 + i).item() == 0.5 + i
    assert len(f._lifted) == 1 and hits(f) > 10


def test_one_of_two_floats():
    f = unchecked(lambda x, k, s: (x * 2 if k > 0.25 else x) * s)
    for i in range(200):
        assert f(shunt.ones(1), 0.1 + i % 2, 0.5 + i).item() == (1 + i % 2) * (0.5 + i)
    assert hits(f) > 150, f.explain()
    assert list(f._never_lifted) == [] and "inputs of the graph for floats that took many values: s" in f.explain()


def test_two_floats_in_turns():
    values = [(0.1 * (1 + i % 5), 0.5 + i) for i in range(200)]
    function = lambda x, k, s: (x * 2 if k > 0.25 else x) * s  # noqa: E731
    f = unchecked(function)
    for k, s in values:
        assert bits(f(shunt.ones(1), k, s)) == bits(function(shunt.ones(1), k, s))
    assert list(f._never_lifted) == ["args[1]"] and hits(f) > 100, f.explain()


def test_fullgraph():
    f = shunt.compile(lambda x, k: x * 2 if k > 0.25 else x, fullgraph=True, options={"check": "never"})
    for i in range(60):
        assert f(shunt.ones(1), 0.1 * (1 + i % 5)).item() == (2 if i % 5 > 1 else 1)
    assert hits(f) > 40


def test_too_many_values():
    f = unchecked(lambda x, k: x * 2 if k > 0.25 else x)
    line = test_too_many_values.__code__.co_firstlineno + 1
    name = "test_too_many_values.<locals>.<lambda>"
    with pytest.warns(UserWarning) as seen:
        for i in range(50):
            f(shunt.ones(1), 0.1 + i)
    assert [str(w.message) for w in seen] == [
        f"shunt.compile: {name} runs without a graph from now on where no variant fits: there are 8 variants "
        "(max_variants) for other values of k. No tensor can take its place: "
        f"test_compile_floats.py:{line} `f = unchecked(lambda x, k: x * 2 if k > 0.25 else x)`: the float k is "
        "compared. Keep a number that changes from call to call in a tensor"]


# ---- where floats are ------------------------------------------------------------------------------------------------


class Base:
    k = 0.5


class Derived(Base):
    pass


class Slotted:
    __slots__ = ("k",)


listed, queued, slotted, derived = [0.5], deque([0.5, 1]), Slotted(), Derived()
number = 0.5


def set_global(k):
    global number
    number = k


PLACES = {
    "global": (lambda x: x * number, set_global, "number"),
    "list": (lambda x: x * listed[0], lambda k: operator.setitem(listed, 0, k), "listed[0]"),
    "deque": (lambda x: x * queued[0], lambda k: operator.setitem(queued, 0, k), "queued[0]"),
    "class": (lambda x: x * Base.k, lambda k: setattr(Base, "k", k), "Base.k"),
    "base": (lambda x: x * derived.k - Derived.k, lambda k: setattr(Base, "k", k), "Base.k"),
    "slot": (lambda x: x * slotted.k, lambda k: setattr(slotted, "k", k), "slotted.k"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_float_that_is_read(place):
    function, set_to, name = PLACES[place]
    f = unchecked(function)
    for i in range(40):
        set_to(0.5 + i)
        assert bits(f(shunt.ones(2))) == bits(function(shunt.ones(2)))
    assert hits(f) > 30, f.explain()
    assert f"    inputs of the graph for floats that took many values: {name}\n" in f.explain()
    assert type(number) is type(listed[0]) is type(queued[0]) is type(Base.k) is float


def test_a_closure():
    k = 0.5
    f = unchecked(lambda x: x * k)
    for i in range(40):
        k = 0.5 + i
        assert f(shunt.ones(1)).item() == 0.5 + i
    assert type(k) is float and hits(f) > 30, f.explain()
    assert "inputs of the graph for floats that took many values: k\n" in f.explain()


def test_a_closure_that_is_looked_at():
    k = 0.1
    f = unchecked(lambda x: x * 2 if k > 0.25 else x)
    for i in range(100):
        k = 0.1 * (1 + i % 5)
        assert f(shunt.ones(1)).item() == (2 if i % 5 > 1 else 1)
    assert type(k) is float and hits(f) > 80, f.explain()


HOLDERS = {
    "tuple": (lambda k: (k, 3), lambda x, d: x * d[0]),
    "list": (lambda k: [k], lambda x, d: x * d[0]),
    "dict": (lambda k: {"k": k}, lambda x, d: x * d["k"]),
    "tuple in a tuple": (lambda k: ((2, k),), lambda x, d: x * d[0][1]),
    "tuple in a list": (lambda k: [(k, None)], lambda x, d: x * d[0][0]),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_arguments_that_hold_floats(holder):
    make, function = HOLDERS[holder]
    f = unchecked(function)
    for i in range(40):
        assert f(shunt.ones(1), make(0.5 + i)).item() == 0.5 + i
    assert hits(f) > 30, f.explain()


def test_a_list_that_is_passed_twice():
    f = unchecked(lambda a, b, y, k: a[0] * k + b[0] + y)
    shared = [shunt.ones(2)]
    for i in range(20):
        assert f(shared, shared, shunt.full((2,), 5.0), 0.5 + i).tolist() == [6.5 + i] * 2
    assert hits(f) > 10


def test_a_float_that_may_be_given_to_type():
    function = lambda x, k: x * k if type(k) is float else -x  # noqa: E731
    f = unchecked(function)
    for i in range(60):
        k = 0.1 * (1 + i % 5)
        assert bits(f(shunt.ones(2), k)) == bits(function(shunt.ones(2), k))
    assert hits(f) > 40
    assert "the float k may be given to type(), which knows what stands for it\n" in f.explain()
