"""torch.compile(backend="shunt") in training: one node in autograd's graph that behaves as eager's do, and AOTAutograd's where it can't."""

import threading
import warnings

import pytest
import torch
from compiling import CALLS, fresh, mine  # noqa: F401: a fixture
from judging import copy_of, difference

import shunt_torch
from shunt_torch.training import _innermost

pytestmark = pytest.mark.usefixtures("fresh")


def compiled(f, **options):
    return torch.compile(f, backend="shunt", **options)


def is_ours(t):
    """Whether a result has Shunt's node, and not one of AOTAutograd's, whose class is one of Python's."""
    return t.grad_fn.name() == "CompiledFunctionBackward" and type(t.grad_fn).__name__ == "CppFunction"


def leaf(*sizes):
    return torch.randn(*sizes, requires_grad=True)


def same(f, arguments, loss=lambda out: out.sum(), calls=CALLS, ours=True, **options):
    """Compares results and grads with eager's to the bit, in calls that warm up, are measured and are replayed."""
    g = compiled(f, **options)
    for i in range(calls):
        theirs, copies = copy_of(arguments), copy_of(arguments)
        torch.manual_seed(i)
        expected = f(*theirs)
        loss(expected).backward()
        torch.manual_seed(i)
        got = g(*copies)
        first = got[0] if isinstance(got, (tuple, list)) else got
        assert is_ours(first) == ours
        loss(got).backward()
        detached = [torch.utils._pytree.tree_map(lambda t: t.detach(), x) for x in (got, expected)]
        what = difference(*detached) or difference(copies, theirs, "arguments")
        assert not what, f"call {i}: {what}"
    assert sum(k.recording.runs for x in mine() for k in x._known.values() if k.recording is not None) > 4
    return g


def product(x, w):
    return torch.tanh(x @ w) * x.sum()


def test_one_node():
    same(product, (torch.randn(3, 4), leaf(4, 5)))
    names = [g.name.split(" ")[0] for g in mine()]
    assert names == ["forward", "backward"] and not any(g.runtime for g in mine())


def test_the_node_leads_to_what_it_came_from():
    x, w, y = torch.randn(3, 4), leaf(4, 5), leaf(3, 4)
    z = y * 2
    out = compiled(lambda x, w, z: torch.tanh((x + z) @ w))(x, w, z)
    functions = [f for f, _ in out.grad_fn.next_functions if f is not None]
    assert z.grad_fn in functions and {f.name() for f in functions} == {"torch::autograd::AccumulateGrad", "MulBackward0"}
    out.sum().backward()
    assert y.grad is not None and w.grad is not None and x.grad is None


# What requires grad.


def test_results_that_need_none():
    def f(x, w):
        y = (x * w).exp()
        return y, y.detach() + 1, (x > 0), x.argmax(), y.sum()

    def loss(out):
        assert [t.requires_grad for t in out] == [True, False, False, False, True]
        return out[0].sum() + out[4]

    same(f, (torch.randn(4), leaf(4)), loss)


def test_arguments_without_a_grad():
    def f(x, w, v):
        return x * w + v.detach() * 2

    g = same(f, (torch.randn(4), leaf(4), leaf(4)))
    v = leaf(4)
    g(torch.randn(4), leaf(4), v).sum().backward()
    assert v.grad is None


@pytest.mark.parametrize("used", [[0], [1], [2], [0, 2], []])
def test_backward_of_some_results(used):
    def f(x, w):
        y = torch.sin(x * w)
        return y, y * w, (x + w).sum()

    weights = leaf(4)
    same(f, (torch.randn(4), weights), lambda out: sum((out[i].sum() for i in used), weights.sum()))


def test_grads_of_inputs():
    f = compiled(product)
    for _ in range(CALLS):
        x, w = leaf(3, 4), leaf(4, 5)
        grads = torch.autograd.grad(f(x, w).sum(), (x, w))
        assert not difference(grads, torch.autograd.grad(product(x, w).sum(), (x, w)))
        (of_w,) = torch.autograd.grad(f(x, w).sum(), (w,))
        assert torch.equal(of_w, grads[1]) and x.grad is None


def test_grads_accumulate():
    f, w, v = compiled(product), leaf(4, 5), None
    v = w.detach().clone().requires_grad_()
    for _ in range(CALLS):
        x = torch.randn(3, 4)
        f(x, w).sum().backward()
        product(x, v).sum().backward()
        assert torch.equal(w.grad, v.grad)


def test_a_tangent_that_is_kept_is_no_grad():
    f, tangent = compiled(lambda x: x + 1), torch.ones(3)
    for _ in range(CALLS):
        x = leaf(3)
        f(x).backward(tangent)
        x.grad.add_(1)
    assert torch.equal(tangent, torch.ones(3))


# Tangents.


@pytest.mark.parametrize("tangent", [torch.randn(5, 3).t(), torch.ones(()).expand(3, 5), torch.randn(3, 10)[:, ::2],
                                     torch.randn(6, 5)[::2]])
def test_tangents_of_other_strides(tangent):
    def f(x, w):
        return torch.tanh(x @ w).t().contiguous().t() * 2

    same(f, (torch.randn(3, 4), leaf(4, 5)), lambda out: (out * tangent).sum())
    g = compiled(f)
    for _ in range(CALLS):
        x, w = torch.randn(3, 4), leaf(4, 5)
        v = w.detach().clone().requires_grad_()
        g(x, w).backward(tangent)
        f(x, v).backward(tangent)
        assert torch.equal(w.grad, v.grad)


def test_results_that_are_views():
    same(lambda x, w: (x @ w).view(2, -1, 5), (torch.randn(4, 4), leaf(4, 5)))
    same(lambda x, w: torch.nn.functional.linear(x, w).relu(), (torch.randn(2, 3, 4), leaf(5, 4)))
    out = compiled(lambda x, w: (x @ w).view(-1))(torch.randn(4, 4), leaf(4, 5))
    assert is_ours(out)
    out.mul_(2).sum().backward()  # in place is as for any result


# Saved tensors.


def test_saved_tensors_that_are_written():
    f = compiled(lambda x, w: (x * w).exp())
    for _ in range(CALLS):
        f(torch.randn(3), leaf(3)).sum().backward()
    for write in ("result", "argument"):
        x, w = torch.randn(3), leaf(3)
        out = f(x, w)
        with torch.no_grad():
            (out if write == "result" else x).mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()


def test_backward_twice():
    f = compiled(product)
    for _ in range(CALLS):
        x, w = torch.randn(3, 4), leaf(4, 5)
        v = w.detach().clone().requires_grad_()
        for g, weights in ((f, w), (product, v)):
            out = g(x, weights).sum()
            out.backward(retain_graph=True)
            out.backward(retain_graph=True)
            out.backward()
            with pytest.raises(RuntimeError, match="backward through the graph a second time"):
                out.backward()
        assert torch.equal(w.grad, v.grad)


def test_memory_of_saved_tensors_is_let_go_of():
    import weakref
    f, x, w = compiled(lambda x, w: torch.tanh(x * w).exp()), torch.randn(3), leaf(3)
    for _ in range(CALLS):
        f(x, w).sum().backward()
    x = torch.randn(3)
    gone = weakref.ref(x)
    out = f(x, w).sum()
    del x
    assert gone() is not None  # saved
    out.backward()
    assert gone() is None
    x = torch.randn(3)
    gone = weakref.ref(x)
    out = f(x, w)
    del x, out  # a result that is saved makes no cycle
    assert gone() is None


def test_hooks_of_saved_tensors():
    def f(x, w):
        return torch.exp(x * w)

    g = compiled(f)
    for _ in range(CALLS):
        g(torch.randn(3), leaf(3)).sum().backward()
    packed = []
    x, w = torch.randn(3), leaf(3)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t.clone(), lambda t: t * 1):
        out = g(x, w)
    assert is_ours(out) and len(packed) >= 2
    out.sum().backward()
    v = w.detach().clone().requires_grad_()
    f(x, v).sum().backward()
    assert torch.equal(w.grad, v.grad)

    def refuse(t):
        raise ValueError("not this one")

    with torch.autograd.graph.saved_tensors_hooks(refuse, lambda t: t), pytest.raises(ValueError, match="not this one"):
        g(x, w)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, refuse):
        out = g(x, w)
    with pytest.raises(ValueError, match="not this one"):
        out.sum().backward()


def test_hooks_of_the_node_and_its_tensors():
    f, seen = compiled(lambda x, w: torch.tanh(x * w)), []
    for _ in range(CALLS):
        w = leaf(3)
        w.register_hook(lambda g: seen.append("leaf") or g * 2)
        out = f(torch.ones(3), w)
        out.register_hook(lambda g: seen.append("result") or g * 3)
        out.grad_fn.register_hook(lambda inputs, outputs: seen.append("node"))
        out.retain_grad()
        out.sum().backward()
        assert seen == ["result", "node", "leaf"] and torch.equal(out.grad, torch.full((3,), 3.0))
        expected = w.detach().clone().requires_grad_()
        torch.tanh(expected).sum().backward()
        torch.testing.assert_close(w.grad, expected.grad * 6)
        seen.clear()


def test_double_backward_is_refused():
    f, w = compiled(lambda x, w: torch.tanh(x * w)), leaf(3)
    for _ in range(CALLS):
        (grad,) = torch.autograd.grad(f(torch.ones(3), w).sum(), w, create_graph=True)
        expected = torch.autograd.grad(torch.tanh(w).sum(), w)[0]
        assert torch.equal(grad.detach(), expected) and grad.requires_grad
        with pytest.raises(RuntimeError, match="does not support double backward"):
            grad.sum().backward()


# Modes.


def test_without_grad():
    f = compiled(product)
    for _ in range(CALLS):
        x, w = torch.randn(3, 4), leaf(4, 5)
        f(x, w).sum().backward()
        with torch.no_grad():
            out = f(x, w)
        assert not out.requires_grad and torch.equal(out, product(x, w))
        with torch.inference_mode():
            out = f(x, w)
        assert out.is_inference() and torch.equal(out, product(x, w))


def test_grad_mode_that_the_function_sets():
    def f(x, w):
        with torch.enable_grad():
            y = x * w
        return y.exp()

    g = compiled(f)
    for _ in range(CALLS):
        with torch.no_grad():
            got, expected = g(torch.ones(3), torch.ones(3, requires_grad=True)), f(torch.ones(3), torch.ones(3, requires_grad=True))
        assert got.requires_grad == expected.requires_grad and torch.equal(got, expected)


@pytest.mark.parametrize("inside", [True, False])
def test_autocast(inside):
    def f(x, w):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=inside):
            return (x @ w).float().relu() * 2

    def step(g, x, w):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not inside):
            out = g(x, w)
        out.sum().backward()
        return out.detach(), w.grad

    # AOTAutograd's backward has the autocast that is on where forward is called, which eager's may not.
    g, reference = compiled(f), torch.compile(f, backend="aot_eager")
    for _ in range(CALLS):
        x, w = torch.randn(3, 4), leaf(4, 5)
        v = w.detach().clone().requires_grad_()
        assert not difference(step(g, x, w), step(reference, x, v))
    assert not any(x.runtime for x in mine())


def test_anomaly_mode_and_profiler():
    f = compiled(product)
    for _ in range(CALLS):
        f(torch.randn(3, 4), leaf(4, 5)).sum().backward()
    x, w = torch.randn(3, 4), leaf(4, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly(), torch.profiler.profile() as profile:
            f(x, w).sum().backward()
    names = {e.name for e in profile.events()}
    assert "CompiledFunction" in names and "CompiledFunctionBackward" in names
    v = w.detach().clone().requires_grad_()
    product(x, v).sum().backward()
    assert torch.equal(w.grad, v.grad)


def test_forward_ad_is_left_to_aot():
    f, x = compiled(lambda x, w: torch.tanh(x * w)), torch.randn(3)
    for _ in range(CALLS):
        f(x, leaf(3)).sum().backward()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(3))
        try:
            out = f(dual, leaf(3))
        except Exception as error:  # PyTorch's: a compiled function has no forward AD
            assert "shunt" not in str(error).lower()
        else:
            assert torch.autograd.forward_ad.unpack_dual(out).tangent is not None


def test_deterministic_algorithms_between_forward_and_backward():
    f = compiled(product)
    out = f(torch.randn(3, 4), leaf(4, 5))
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(RuntimeError, match="deterministic algorithms"):
            out.sum().backward()
    finally:
        torch.use_deterministic_algorithms(False)


# Draws, sizes, parts of programs.


def test_draws_come_in_order():
    def f(x, w):
        y = torch.nn.functional.dropout(x * w, 0.5)
        return torch.nn.functional.dropout(y, 0.3) + torch.rand_like(y)

    same(f, (torch.randn(20), leaf(20)))
    torch.manual_seed(3)
    compiled(f)(torch.randn(20), leaf(20)).sum().backward()
    after = torch.rand(1)
    torch.manual_seed(3)
    f(torch.randn(20), leaf(20)).sum().backward()
    assert torch.equal(after, torch.rand(1))


@pytest.mark.parametrize("dynamic", [True, None])
def test_sizes_that_change(dynamic):
    def f(x, w):
        y = torch.tanh(x @ w) * x.shape[0]
        return y.reshape(-1), y.sum(0)

    g = compiled(f, dynamic=dynamic)
    w, v = leaf(4, 5), None
    for n in [3, 3, 5, 5, 6, 7, 6, 6, 5, 3] * 4:
        x = torch.randn(n, 4)
        v = w.detach().clone().requires_grad_()
        w.grad = None
        got, expected = g(x, w), f(x, v)
        sum(t.sum() for t in got).backward()
        sum(t.sum() for t in expected).backward()
        assert all(torch.equal(a, b) for a, b in zip(got, expected)) and torch.equal(w.grad, v.grad)
        assert is_ours(got[0])
    dynamic_graphs = [g for g in mine() if len(g._known) > 1]
    known = [k for g in dynamic_graphs for k in g._known.values()]
    assert sum(k.recording.runs for k in known if k.recording is not None) > 4


def test_graph_breaks_and_chains():
    def f(x, w):
        y = torch.tanh(x @ w)
        torch._dynamo.graph_break()
        return torch.sigmoid(y @ w.t()) * 2

    same(f, (torch.randn(3, 4), leaf(4, 5)))
    g, w = compiled(lambda x, w: torch.tanh(x * w)), leaf(3)
    v = w.detach().clone().requires_grad_()
    x, y = torch.ones(3), torch.ones(3)
    for _ in range(50):
        x, y = g(x, w), torch.tanh(y * v)
    x.sum().backward()
    y.sum().backward()
    assert torch.equal(w.grad, v.grad)


def test_a_deep_graph_is_let_go_of():
    g, w = compiled(lambda x, w: x * w), torch.ones(1, requires_grad=True)
    x = torch.ones(1)
    for _ in range(20000):
        x = g(x, w)
    del x  # without a recursion as deep as the graph


def test_backward_in_other_threads():
    f, wrong = compiled(product), []
    x, w = torch.randn(3, 4), leaf(4, 5)
    for _ in range(CALLS):
        f(x, w).sum().backward()

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(30):
            x = torch.randn(3, 4, generator=generator)
            w = torch.randn(4, 5, generator=generator).requires_grad_()
            v = w.detach().clone().requires_grad_()
            f(x, w).sum().backward()
            product(x, v).sum().backward()
            if not torch.equal(w.grad, v.grad):
                wrong.append((x, w))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    shared = f(x, w)
    results = []
    differentiate = lambda: results.append(torch.autograd.grad(shared.sum(), w, retain_graph=True)[0])  # noqa: E731
    threads = [threading.Thread(target=differentiate) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 4 and all(torch.equal(r, results[0]) for r in results)


def test_errors_are_pytorchs():
    f = compiled(lambda w, i: torch.nn.functional.embedding(i, w) * 2)
    w = leaf(4, 3)
    for i in [1] * CALLS + [9, 1, 9, 2]:
        if i < 4:
            f(w, torch.tensor([i])).sum().backward()
        else:
            with pytest.raises(IndexError, match="index out of range in self"):
                f(w, torch.tensor([i]))


# What is left to AOTAutograd.


def writes(x, w):
    x.mul_(w)
    return x.sum()


@pytest.mark.parametrize("f, why", [
    (lambda x, w: ((x * w).t(), (x * w)[0]), ""),
    (lambda x, w: (lambda y: (y, y[0]))(x * w), "results that are views"),
    (lambda x, w: (x * w, w.t()), "results that are views"),
    (writes, "inputs that are written"),
])
def test_what_is_left_to_aot(f, why):
    def loss(out):
        return sum(t.sum() for t in (out if isinstance(out, tuple) else (out,)))

    if f is writes:
        same(f, (torch.randn(3), leaf(3)), loss, ours=False)
    else:
        same(lambda x, w: f(x.clone(), w), (torch.randn(3, 3), leaf(3, 3)), loss, ours=not why)
    (forward,) = (g for g in mine() if g.name.startswith("forward"))
    assert forward.runtime == why and (f"  called by AOTAutograd's runtime: {why}\n" in shunt_torch.explain()) == bool(why)


def test_buffers_that_the_graph_writes():
    def make():
        torch.manual_seed(1)
        return torch.nn.Sequential(torch.nn.Conv1d(2, 3, 2), torch.nn.BatchNorm1d(3))

    theirs, ours = make(), make()
    g, reference = compiled(ours), torch.compile(theirs, backend="aot_eager")
    for _ in range(CALLS):
        x = torch.randn(4, 2, 5)
        versions = [b._version for b in ours.buffers()]
        out = g(x)
        assert is_ours(out) and all(b._version > v for b, v in zip(ours.buffers(), versions))
        out.sum().backward()
        reference(x).sum().backward()
        assert not difference(list(ours.buffers()), list(theirs.buffers()))
        assert all(torch.equal(p.grad, q.grad) for p, q in zip(ours.parameters(), theirs.parameters()))


def test_dispatch_modes_have_aots_runtime():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        seen = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.seen += 1
            return function(*args, **(kwargs or {}))

        @classmethod
        def ignore_compile_internals(cls):
            return True

    f, w = compiled(product), leaf(4, 5)
    f(torch.randn(3, 4), w)
    with Counting() as mode:
        f(torch.randn(3, 4), w).sum().backward()
    assert w.grad is not None and mode.seen > 0
    for _ in range(CALLS):
        w.grad, x = None, torch.randn(3, 4)
        v = w.detach().clone().requires_grad_()
        f(x, w).sum().backward()
        product(x, v).sum().backward()
        assert torch.equal(w.grad, v.grad)
    assert all(len(g._known) == 1 for g in mine())


def test_other_backends_are_left_alone():
    compiled(product)(torch.randn(3, 4), leaf(4, 5))
    torch._dynamo.reset()
    out = torch.compile(product, backend="aot_eager")(torch.randn(3, 4), leaf(4, 5))
    assert not is_ours(out) and out.grad_fn.name() == "CompiledFunctionBackward"


def test_what_disable_wrapped_is_found():
    assert _innermost(torch._dynamo.disable(lambda: 1)) is None
    compiled(product)(torch.randn(3, 4), leaf(4, 5))
    graph = mine()[0]
    assert _innermost(torch._dynamo.disable(torch._dynamo.disable(graph))) is graph
