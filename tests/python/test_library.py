"""shunt.library: operators and kernels of a program's own."""

import gc
import itertools
import os
import subprocess
import sys
import threading
from typing import List, Optional, Tuple

import pytest

import shunt
from shunt.library import Library

numbers = itertools.count()


@pytest.fixture
def ns():
    """A namespace that no other test has."""
    return f"testlib{next(numbers)}"


@pytest.fixture
def lib(ns):
    library = Library(ns, "DEF")
    yield library
    library._destroy()


def test_define_and_impl_by_functions():
    shunt.library.define("fnlib::twice", "(Tensor x) -> Tensor")
    calls = []

    @shunt.library.impl("fnlib::twice", "CPU")
    def twice(x):
        calls.append(tuple(x.shape))
        return x + x

    assert shunt.ops.fnlib.twice(shunt.ones(2)).tolist() == [2.0, 2.0]
    assert calls == [(2,)] and twice is not None
    assert shunt.ops.fnlib.twice.default.has_kernel_for_dispatch_key("CPU")


def test_arguments_of_kernels(lib, ns):
    lib.define("f(Tensor x, int n=2, *, float a=0.5, str s='u', int[2] k=1, Tensor? t=None, ScalarType? d=None) -> "
               "Tensor")
    seen = []

    def kernel(*args, **kwargs):
        seen.append((args[1:], kwargs))
        return args[0].clone()

    lib.impl("f", kernel, "CPU")
    op = getattr(shunt.ops, ns).f
    x = shunt.ones(1)
    op(x)
    op(x, 3)
    op(x, 2, a=2, s="v")
    op(x, k=4, d=shunt.int64)
    assert seen == [((), {}), ((3,), {}), ((), {"a": 2.0, "s": "v"}), ((), {"k": [4, 4], "d": shunt.int64})]
    op(x, t=x)
    assert seen[-1][1]["t"] is x


@pytest.mark.parametrize("schema, result", [
    ("f(Tensor x) -> (Tensor, Tensor)", lambda x: (x + 1, x + 2)),
    ("f(Tensor x) -> Tensor[]", lambda x: [x + 1, x + 2]),
    ("f(Tensor x) -> int", lambda x: 7),
    ("f(Tensor x) -> float", lambda x: 1.5),
    ("f(Tensor x) -> bool", lambda x: True),
    ("f(Tensor x) -> str", lambda x: "text"),
    ("f(Tensor x) -> ()", lambda x: None),
])
def test_results_of_kernels(lib, ns, schema, result):
    lib.define(schema)
    lib.impl("f", result, "CompositeExplicitAutograd")
    x = shunt.zeros(2)
    got, expected = getattr(shunt.ops, ns).f(x), result(x)
    assert type(got) is type(expected)
    if isinstance(expected, (tuple, list)):
        assert [t.tolist() for t in got] == [t.tolist() for t in expected]
    else:
        assert got == expected


def test_wrong_results_of_kernels(lib, ns):
    lib.define("one(Tensor x) -> Tensor")
    lib.define("two(Tensor x) -> (Tensor, Tensor)")
    lib.define("none(Tensor x) -> ()")
    for name in ("one", "two", "none"):
        lib.impl(name, lambda x: 'text', "CPU")
    space, x = getattr(shunt.ops, ns), shunt.ones(1)
    with pytest.raises(TypeError, match="the result of .*expected Tensor, got str"):
        space.one(x)
    with pytest.raises(RuntimeError, match="must return a tuple of 2, got str"):
        space.two(x)
    with pytest.raises(RuntimeError, match="must return None"):
        space.none(x)


def test_exceptions_come_out_as_they_were(lib, ns):
    lib.define("f(Tensor x) -> Tensor")
    error = KeyError("mine")

    def kernel(x):
        raise error

    lib.impl("f", kernel, "CPU")
    with pytest.raises(KeyError) as caught:
        getattr(shunt.ops, ns).f(shunt.ones(1))
    assert caught.value is error
    assert "kernel" in [entry.name for entry in caught.traceback]


def test_composites_and_autograd_keys(lib, ns):
    lib.define("c(Tensor x) -> Tensor")
    lib.impl("c", lambda x: x * x, "CompositeImplicitAutograd")
    x = shunt.full((2,), 3.0).requires_grad_()
    getattr(shunt.ops, ns).c(x).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]

    lib.define("a(Tensor x) -> Tensor")
    order = []

    def autograd(keys, x):
        order.append("Autograd")
        with shunt._C._AutoDispatchBelowAutograd():
            return getattr(shunt.ops, ns).a.default.redispatch(keys & shunt._C.DispatchKeySet("CPU"), x)

    lib.impl("a", autograd, "Autograd", with_keyset=True)
    lib.impl("a", lambda x: order.append("CPU") or x + 1, "CPU")
    assert getattr(shunt.ops, ns).a(x.detach().requires_grad_()).tolist() == [4.0, 4.0]
    assert order == ["Autograd", "CPU"]


def test_redispatch_below_autograd(lib, ns):
    lib.define("b(Tensor x) -> Tensor")
    order = []

    def autograd(keys, x):
        order.append("Autograd")
        return getattr(shunt.ops, ns).b.default.redispatch(keys & shunt._C._after_autograd_keyset, x)

    lib.impl("b", autograd, "Autograd", with_keyset=True)
    lib.impl("b", lambda x: order.append("CPU") or x + 1, "CPU")
    assert getattr(shunt.ops, ns).b(shunt.full((2,), 3.0).requires_grad_()).tolist() == [4.0, 4.0]
    assert order == ["Autograd", "CPU"]
    assert shunt._C._after_ADInplaceOrView_keyset.has("AutogradCPU")
    assert not shunt._C._after_autograd_keyset.has("AutogradCPU")


def test_destruction_takes_registrations_back(ns):
    library = Library(ns, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x + 1, "CPU")
    op = getattr(shunt.ops, ns).f
    op(shunt.ones(1))
    library._destroy()
    with pytest.raises(AttributeError):
        getattr(shunt.ops, ns).f
    with pytest.raises(RuntimeError):
        op(shunt.ones(1))
    with pytest.raises(RuntimeError, match="was destroyed"):
        library.define("g(Tensor x) -> Tensor")
    again = Library(ns, "DEF")
    again.define("f(Tensor x, Tensor y) -> Tensor")
    again.impl("f", lambda x, y: x + y, "CPU")
    assert getattr(shunt.ops, ns).f(shunt.ones(1), shunt.ones(1)).tolist() == [2.0]
    del again
    gc.collect()
    with pytest.raises(AttributeError):
        getattr(shunt.ops, ns).f


def test_overrides_end_with_their_library():
    calls = []
    library = Library("aten", "IMPL", "CPU")
    library.impl("neg", lambda x: calls.append("neg") or x)
    x = shunt.ones(2)
    assert shunt.ops.aten.neg(x) is x and (-x) is x and calls == ["neg", "neg"]
    library._destroy()
    assert (-x).tolist() == [-1.0, -1.0] and len(calls) == 2


def test_fallbacks():
    library = Library("_", "IMPL", "PrivateUse2")
    calls = []
    library.fallback(lambda op, *args, **kwargs: calls.append(op))
    with pytest.raises(RuntimeError, match="wildcard namespace"):
        Library("aten", "IMPL").fallback(lambda *a: None, "PrivateUse2")
    library._destroy()


def test_bad_registrations(lib, ns):
    lib.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="test_library.py"):  # says where it was defined before
        lib.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="(?i)expected"):
        lib.define("g(Tensr x) -> Tensor")
    with pytest.raises(RuntimeError, match="could not parse dispatch key"):
        lib.impl("f", lambda x: x, "CPUU")
    with pytest.raises(TypeError, match="callable"):
        lib.impl("f", 3, "CPU")
    lib.impl("f", lambda x: x + 1, "CPU")
    with pytest.raises(RuntimeError, match="already a kernel registered from python"):
        lib.impl("f", lambda x: x + 1, "CPU")
    with pytest.raises(ValueError, match="Unsupported library type"):
        Library(ns, "OTHER")
    with pytest.raises(ValueError, match="namespace::name"):
        shunt.library.define("nonamespace", "(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="expected a schema like"):
        shunt.library.define(f"{ns}::h", "Tensor x -> Tensor")
    with pytest.raises(RuntimeError):
        Library(ns, "DEF")  # the namespace has one
    with pytest.raises(NotImplementedError):
        shunt.library.triton_op("a::b", mutates_args=())


def test_kernels_of_other_threads(lib, ns):
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    op = getattr(shunt.ops, ns).f
    results = []
    threads = [threading.Thread(target=lambda: results.append(sum(op(shunt.ones(1)).item() for _ in range(200))))
               for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [400.0] * 4


def test_infer_schema():
    def g(x: shunt.Tensor, out: List[shunt.Tensor]) -> None:
        pass

    with pytest.raises(ValueError, match="must have a type annotation"):
        shunt.library.infer_schema(lambda x: x, mutates_args=())
    text = shunt.library.infer_schema(g, mutates_args={"out"})
    assert text == "(Tensor x, Tensor(a1!)[] out) -> ()"
    with pytest.raises(ValueError, match="unsupported"):
        shunt.library.infer_schema(_annotated(object), mutates_args=())
    with pytest.raises(ValueError, match="not found"):
        shunt.library.infer_schema(g, mutates_args={"nothing"})
    assert shunt.library.infer_schema(_whole(), mutates_args=()) == (
        "(Tensor x, Tensor? y, SymInt n=3, *, str s=\"a\", float? a=None) -> (Tensor, Tensor)")


def _annotated(kind):
    def f(x: kind) -> shunt.Tensor:
        pass

    return f


def _whole():
    def f(x: shunt.Tensor, y: Optional[shunt.Tensor], n: int = 3, *, s: str = "a",
          a: Optional[float] = None) -> Tuple[shunt.Tensor, shunt.Tensor]:
        pass

    return f


def test_custom_op():
    @shunt.library.custom_op("customlib::scale", mutates_args=())
    def scale(x: shunt.Tensor, by: float = 2.0) -> shunt.Tensor:
        return x * by

    assert scale(shunt.ones(2)).tolist() == [2.0, 2.0]
    assert shunt.ops.customlib.scale(shunt.ones(2), 3.0).tolist() == [3.0, 3.0]
    assert str(shunt.ops.customlib.scale.default._schema) == "customlib::scale(Tensor x, float by=2.0) -> Tensor"
    assert scale.__name__ == "scale"

    with pytest.raises(RuntimeError, match="no fake impl registered for <CustomOpDef"):
        scale(shunt.ones(2, device="meta"))

    @scale.register_fake
    def _(x, by=2.0):
        return shunt.empty_like(x)

    assert scale(shunt.ones(2, device="meta")).device.type == "meta"
    shunt.library.opcheck(scale, (shunt.ones(3), 4.0), test_utils=("test_schema", "test_faketensor"))


def test_custom_op_must_not_return_an_argument():
    @shunt.library.custom_op("customlib::same", mutates_args=())
    def same(x: shunt.Tensor) -> shunt.Tensor:
        return x

    @shunt.library.custom_op("customlib::part", mutates_args=())
    def part(x: shunt.Tensor, y: shunt.Tensor) -> List[shunt.Tensor]:
        return [x + 1, y[1:]]

    whole = "customlib::{0}: test_custom_op_must_not_return_an_argument.<locals>.{0}() returns {1}, but what a " \
            "custom operator returns must not also be an input, nor share its memory; return a clone()"
    for call, name, what in ((lambda: same(shunt.ones(2)), "same", "its argument 'x'"),
                             (lambda: part(shunt.ones(2), shunt.ones(2)), "part", "a view of its argument 'y'"),
                             (lambda: part(shunt.ones(2), y=shunt.ones(2)), "part", "a view of its argument 'y'")):
        with pytest.raises(RuntimeError) as caught:
            call()
        assert str(caught.value) == whole.format(name, what)
    empty = shunt.empty(0)
    assert part(empty, empty)[1].shape == (0,)


@pytest.mark.parametrize("returns, result, kind, message", [
    ("Tensor", 5, TypeError, "the result of {}: expected Tensor, got int"),
    ("Tensor", True, TypeError, "the result of {}: expected Tensor, got bool"),
    ("Tensor", "text", TypeError, "the result of {}: expected Tensor, got str"),
    ("Tensor[]", [5], TypeError, "the result of {}: expected Tensor[], got a list whose element 0 is of type int"),
    ("Tensor[]", 5, TypeError, "the result of {}: expected Tensor[], got int"),
    ("int", 2.5, TypeError, "the result of {}: expected int, got float"),
    ("(Tensor, Tensor)", 5, RuntimeError, "{} must return a tuple of 2, got int"),
    ("(Tensor, Tensor)", (shunt.ones(1),), RuntimeError, "{} must return 2 values, got 1"),
    ("(Tensor, Tensor)", (shunt.ones(1), 5), TypeError, "result 2 of {}: expected Tensor, got int"),
    ("()", 5, RuntimeError, "{} must return None, as the operator has no results, got int"),
])
def test_results_of_kernels_are_checked(ns, lib, returns, result, kind, message):
    def wrong(*args):
        return result

    what = f"test_results_of_kernels_are_checked.<locals>.wrong (test_library.py:{wrong.__code__.co_firstlineno})"
    custom = shunt.library.custom_op(f"{ns}::custom", mutates_args=(), schema=f"(Tensor x) -> {returns}")(wrong)
    lib.define(f"f(Tensor x) -> {returns}")
    lib.impl("f", wrong, "CPU")
    for call, name in ((getattr(shunt.ops, ns).f, "f"), (custom, "custom")):
        for requires_grad in (False, True):
            with pytest.raises(kind) as caught:
                call(shunt.ones(2, requires_grad=requires_grad))
            assert str(caught.value) == f"operator {ns}::{name}: {message.format(what)}"


def test_a_kernel_may_return_none_for_a_tensor(ns, lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: None, "CPU")
    assert getattr(shunt.ops, ns).f(shunt.ones(1)) is None


def test_custom_op_that_writes():
    @shunt.library.custom_op("customlib::fill", mutates_args={"x"})
    def fill(x: shunt.Tensor, value: float) -> None:
        x.fill_(value)

    x = shunt.zeros(2)
    assert fill(x, 3.0) is None and x.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="non-functional"):
        fill.register_autograd(lambda ctx, g: g)


needs_function = pytest.mark.skipif(not hasattr(shunt.autograd, "Function"), reason="shunt.autograd has no Function")


@needs_function
def test_gradients_of_custom_ops():
    @shunt.library.custom_op("customlib::square", mutates_args=())
    def square(x: shunt.Tensor, xs: List[shunt.Tensor]) -> shunt.Tensor:
        return x * x + xs[0]

    x, y = shunt.full((2,), 3.0).requires_grad_(), shunt.ones(2).requires_grad_()
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        square(x, [y]).sum().backward()

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    def backward(ctx, grad):
        return grad * 2 * ctx.saved_tensors[0], [grad]

    square.register_autograd(backward, setup_context=setup)
    result = square(x, [y])
    assert type(result.grad_fn).__name__ == "GeneratedBackwardFor_customlib_square_defaultBackward"
    result.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0] and y.grad.tolist() == [1.0, 1.0]


@needs_function
def test_gradients_of_defined_operators(lib, ns):
    lib.define("cube(Tensor x) -> Tensor")
    lib.impl("cube", lambda x: x * x * x, "CPU")
    shunt.library.register_autograd(f"{ns}::cube", lambda ctx, g: g * 3 * ctx.saved_tensors[0]**2,
                                    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs), lib=lib)
    x = shunt.full((2,), 2.0).requires_grad_()
    y = getattr(shunt.ops, ns).cube(x)
    y.sum().backward()
    assert y.tolist() == [8.0, 8.0] and x.grad.tolist() == [12.0, 12.0]


def test_a_custom_op_that_writes_by_other_means_counts_as_a_change():
    memory = {}

    @shunt.library.custom_op("written::by_others", mutates_args=("x",))
    def add_one(x: shunt.Tensor, n: int = 1) -> None:
        memory["view"] = memoryview(x)
        memory["view"][0] = 5.0

    a = shunt.ones(2, requires_grad=True)
    b = a * 1
    c = b * b
    version = b._version
    add_one(b.detach())
    assert b._version == version + 1 and b[0].item() == 5.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        c.sum().backward()
    x = shunt.ones(2)
    add_one(x=x)
    assert x._version == 1
    with shunt.inference_mode():
        add_one(shunt.ones(2))


def test_libraries_that_come_and_go_leave_little():
    code = """
import gc, os, shunt
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
def rounds(n):
    for _ in range(n):
        lib = shunt.library.Library("come_and_go", "DEF")
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x, "CPU")
        lib._destroy()
    gc.collect()
rounds(500)
before = resident()
rounds(2000)
print(resident() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "SHUNT_JIT": "0"})
    assert int(done.stdout) < 2000 * 600, done.stdout + done.stderr
