"""shunt.library.register_vmap: batching rules written in Python."""

import itertools
from typing import List

import pytest

import shunt
from shunt import Tensor
from shunt.func import grad, vmap
from shunt.library import Library, custom_op, register_vmap

numbers = itertools.count()


@pytest.fixture
def ns():
    """A namespace that no other test has."""
    return f"rules{next(numbers)}"


@pytest.fixture
def lib(ns):
    library = Library(ns, "DEF")
    yield library
    library._destroy()


def batch(*shape):
    return shunt.randn(*shape)


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and bool((a == b).all())


def scan(ns, calls=None):
    """x.cumsum(-1) * w * k, with a gradient."""

    @custom_op(f"{ns}::scan", mutates_args=())
    def op(x: Tensor, w: Tensor, k: float = 2.0) -> Tensor:
        if calls is not None:
            calls.append(tuple(x.shape))
        return x.cumsum(-1) * w * k

    @op.register_fake
    def _(x, w, k=2.0):
        return x * w

    def setup(ctx, inputs, output):
        x, w, ctx.k = inputs
        ctx.save_for_backward(x, w)

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        to_x = (g * ctx.k * w).flip(-1).cumsum(-1).flip(-1)
        return to_x.sum_to_size(x.shape), (g * ctx.k * x.cumsum(-1)).sum_to_size(w.shape), None

    op.register_autograd(backward, setup_context=setup)
    return op


def in_front(x, dim):
    return x if dim is None else x.movedim(dim, 0)


def by_samples(f, args, dims):
    n = next(a.shape[d] for a, d in zip(args, dims) if d is not None)
    return shunt.stack([f(*[a if d is None else a.select(d, i) for a, d in zip(args, dims)]) for i in range(n)])


@pytest.mark.parametrize("dims", [(0, 0), (1, 0), (0, 1), (0, None), (None, 1), (-1, 0)])
def test_a_rule_runs_once_for_the_batch(ns, dims):
    calls, seen = [], []
    op = scan(ns, calls)

    @op.register_vmap
    def rule(info, in_dims, x, w, k=2.0):
        seen.append((info.batch_size, info.randomness, in_dims))
        return op(in_front(x, in_dims[0]), in_front(w, in_dims[1]), k), 0

    args = [batch(3) if d is None else batch(5, 3) if d == 0 else batch(3, 5) for d in dims]
    want = by_samples(op, args, dims)
    calls.clear()
    assert same(vmap(op, in_dims=dims)(*args), want)
    assert len(calls) == 1
    assert seen == [(5, "error", tuple(d % 2 if d is not None else None for d in dims))]
    assert rule is not None


def test_rules_nest_and_have_gradients(ns):
    calls = []
    op = scan(ns)

    def rule(info, in_dims, x, w, k=2.0):
        calls.append(in_dims)
        dims = max(x.dim() - (in_dims[0] is not None), w.dim() - (in_dims[1] is not None))

        def aligned(t, dim):
            t = in_front(t, dim)
            return t if dim is None else t.reshape(t.shape[0], *[1] * (dims + 1 - t.dim()), *t.shape[1:])

        return op(aligned(x, in_dims[0]), aligned(w, in_dims[1]), k), 0

    assert register_vmap(op, rule) is rule
    x, w = batch(4, 5, 3), batch(4, 3)
    got = vmap(vmap(op, in_dims=(0, None)))(x, w)
    want = shunt.stack([by_samples(op, [x[i], w[i]], (0, None)) for i in range(4)])
    assert same(got, want) and len(calls) == 2

    def loss(a, b):
        return (op(a, b) * a).sum()

    x, w = (shunt.randint(-4, 5, (5, 3)).double() for _ in range(2))  # whole numbers: all sums are exact
    del calls[:]
    assert same(vmap(grad(loss))(x, w), shunt.stack([grad(loss)(x[i], w[i]) for i in range(5)]))
    assert len(calls) == 1
    shared = w[0].clone().requires_grad_()
    vmap(loss, in_dims=(0, None))(x, shared).sum().backward()
    assert same(shared.grad, sum(grad(loss, argnums=1)(x[i], w[0]) for i in range(5)))
    assert len(calls) == 2


def test_rules_compile(ns):
    op = scan(ns)
    op.register_vmap(lambda info, in_dims, x, w, k=2.0: (op(in_front(x, in_dims[0]), in_front(w, in_dims[1]), k), 0))
    f = vmap(lambda a, b: op(a * 2, b) + 1)
    x, w = batch(5, 3), batch(5, 3)
    want, fast = f(x, w), shunt.compile(f)
    for _ in range(5):
        assert same(fast(x, w), want)


def test_lists_and_several_results(lib, ns):
    lib.define("parts(Tensor[] xs, int[] n, Tensor? b=None) -> (Tensor, Tensor[])")
    op = getattr(shunt.ops, ns).parts
    lib.impl("parts", lambda xs, n, b=None: (xs[0] * n[0] if b is None else xs[0] + b, [xs[1] * 2, xs[1]]), "CPU")
    seen = []

    @register_vmap(f"{ns}::parts", lib=lib)
    def rule(info, in_dims, xs, n, b=None):
        seen.append(in_dims)
        dims = in_dims[0]
        first, rest = op([x if d is None else x.movedim(d, 0) for x, d in zip(xs, dims)], n,
                         b if b is None else b.movedim(in_dims[2], 0))
        return (first, rest), (0, [0 if dims[1] is not None else None, 0 if dims[1] is not None else None])

    x, y, b = batch(3, 5), batch(3), batch(5, 3)
    first, rest = vmap(lambda x, y: op([x, y], [3, 4]), in_dims=(1, None))(x, y)
    assert same(first, x.t() * 3) and same(rest[0], (y * 2).expand(5, 3)) and same(rest[1], y.expand(5, 3))
    first, rest = vmap(lambda x, y, b: op([x, y], [3, 4], b), in_dims=(1, 0, 0))(x, b, b)
    assert same(first, x.t() + b) and same(rest[0], b * 2)
    assert seen == [([1, None], [None, None]), ([1, 0], [None, None], 0)]


def test_one_out_dim_stands_for_all(ns):
    @custom_op(f"{ns}::split", mutates_args=())
    def split(x: Tensor) -> List[Tensor]:
        return [x * 2, x + 1]

    @split.register_vmap
    def _(info, in_dims, x):
        return split(x), in_dims[0]

    x = batch(3, 5)
    doubled, more = vmap(split, in_dims=1)(x)
    assert same(doubled, x.t() * 2) and same(more, x.t() + 1)


def test_rules_of_operators_that_write(ns):
    @custom_op(f"{ns}::fill", mutates_args=("out",))
    def fill(out: Tensor, x: Tensor) -> None:
        out.copy_(x)

    @fill.register_vmap
    def _(info, in_dims, out, x):
        fill(out.movedim(in_dims[0], 0), x.movedim(in_dims[1], 0))
        return None, None

    out, x = shunt.zeros(5, 3), batch(3, 5)

    def f(o, t):
        fill(o, t)
        return o

    vmap(f, in_dims=(0, 1))(out, x)
    assert same(out, x.t())
    with pytest.raises(RuntimeError, match="one tensor can't hold a result for each"):
        vmap(f, in_dims=(None, 1))(shunt.zeros(3), x)


def test_a_rule_is_in_force_as_long_as_its_library(lib, ns):
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    op = getattr(shunt.ops, ns).f
    x = batch(5, 3)
    rules = Library(ns, "FRAGMENT")
    register_vmap(op.default, lambda info, in_dims, x: (x * 10, in_dims[0]), lib=rules)
    assert same(vmap(op)(x), x * 10)
    newer = Library(ns, "FRAGMENT")
    register_vmap(f"{ns}::f", lambda info, in_dims, x: (x * 20, in_dims[0]), lib=newer)
    assert same(vmap(op)(x), x * 20)
    newer._destroy()
    assert same(vmap(op)(x), x * 10)
    rules._destroy()
    assert same(vmap(op)(x), x + 1)


def test_randomness(lib, ns):
    lib.define("f(Tensor x) -> Tensor")
    seen = []

    @register_vmap(f"{ns}::f", lib=lib)
    def _(info, in_dims, x):
        seen.append(info.randomness)
        return x, in_dims[0]

    for randomness in ("error", "same", "different"):
        vmap(getattr(shunt.ops, ns).f, randomness=randomness)(batch(2, 3))
    assert seen == ["error", "same", "different"]


def answer(lib, ns, rule, schema="(Tensor x) -> Tensor"):
    """The message of a call whose rule gives this answer."""
    name = f"f{next(numbers)}"
    lib.define(f"{name}{schema}")
    register_vmap(f"{ns}::{name}", rule, lib=lib)
    with pytest.raises((RuntimeError, IndexError)) as error:
        vmap(getattr(getattr(shunt.ops, ns), name))(shunt.ones(5, 3))
    return str(error.value).replace(f"{ns}::{name}", "op").replace(f"{ns}.{name}.default", "op")


def test_answers_that_are_refused(lib, ns):
    assert answer(lib, ns, lambda info, in_dims, x: x) == (
        "register_vmap: the rule of op: expected it to return (result, out_dims), got Tensor")
    assert answer(lib, ns, lambda info, in_dims, x: (x, 0, 1)) == (
        "register_vmap: the rule of op: expected it to return (result, out_dims), got a tuple of 3")
    assert "expected out_dims of ints and None, structured as the result" in answer(
        lib, ns, lambda info, in_dims, x: (x, "a"))
    assert "returned out_dim 2 for result 0, a tensor of shape [5, 3]: expected a dimension in [-2, 1]" in answer(
        lib, ns, lambda info, in_dims, x: (x, 2))
    assert "which has 3 samples there: expected the batch's 5" in answer(lib, ns, lambda info, in_dims, x: (x, 1))
    assert "must return 2 values, got 1" in answer(
        lib, ns, lambda info, in_dims, x: ((x,), 0), "(Tensor x) -> (Tensor, Tensor)")
    assert "keyword-only argument 'w' is batched" in keyword_only(lib, ns)


def keyword_only(lib, ns):
    lib.define("k(Tensor x, *, Tensor w) -> Tensor")
    register_vmap(f"{ns}::k", lambda info, in_dims, x, w: (x, 0), lib=lib)
    op = getattr(shunt.ops, ns).k
    x = shunt.ones(5, 3)
    assert same(vmap(lambda t: op(t, w=x[0]))(x), x)
    with pytest.raises(RuntimeError) as error:
        vmap(lambda t: op(t, w=t))(x)
    return str(error.value)


def test_registrations_that_are_refused(lib, ns):
    lib.define("known(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match=f"there is no such operator; did you mean '{ns}::known'"):
        register_vmap(f"{ns}::knwon", lambda info, in_dims, x: (x, 0), lib=lib)
    with pytest.raises(TypeError, match="expected a callable, got int"):
        register_vmap(f"{ns}::known", 3, lib=lib)


def test_messages_name_the_function_of_python(lib, ns):
    lib.define("view(Tensor(a) x) -> Tensor(a)")
    lib.impl("view", lambda x: x[:1], "CPU")
    with pytest.raises(RuntimeError, match=r"returns views \(shunt.library.register_vmap\)"):
        vmap(getattr(shunt.ops, ns).view)(batch(2, 3))
    register_vmap(f"{ns}::view", lambda info, in_dims, x: (x.movedim(in_dims[0], 0)[:, :1], 0), lib=lib)
    assert vmap(getattr(shunt.ops, ns).view)(batch(2, 3)).shape == (2, 1)


def test_what_a_rule_raises_comes_out(lib, ns):
    lib.define("f(Tensor x) -> Tensor")

    class Own(Exception):
        pass

    def rule(info, in_dims, x):
        raise Own

    register_vmap(f"{ns}::f", rule, lib=lib)
    with pytest.raises(Own):
        vmap(getattr(shunt.ops, ns).f)(batch(2, 3))
