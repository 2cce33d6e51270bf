"""Hooks on tensors and nodes, and retain_grad: order, replacement, removal, errors."""

import gc
import weakref

import pytest

import shunt
from twins import same


def leaf(lib):
    return lib.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_what_a_hook_returns_replaces_the_gradient():
    def program(lib):
        x = leaf(lib)
        seen = []
        x.register_hook(lambda g: seen.append(g.clone()))
        x.register_hook(lambda g: g * 2)
        x.register_hook(lambda g: g + 1)
        (x * 3).sum().backward()
        return x.grad, seen

    same(program)


def test_the_order_of_hooks():
    def program(lib):
        x = leaf(lib)
        y = x * 2
        order = []
        note = lambda name: lambda *args: order.append(name)
        y.register_hook(note("tensor 1"))
        y.retain_grad()
        y.grad_fn.register_prehook(note("node before"))
        y.grad_fn.register_hook(note("node after"))
        y.register_hook(note("tensor 2"))
        x.register_hook(note("leaf"))
        x.register_post_accumulate_grad_hook(note("leaf after"))
        y.sum().backward()
        return order, y.grad

    same(program)


def test_retain_grad_sees_what_hooks_made():
    def program(lib):
        x = leaf(lib)
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda g: g * 10)
        y.retain_grad()
        y.sum().backward()
        return y.grad, y.retains_grad, x.grad, x.retains_grad

    same(program)


def test_handles():
    def program(lib):
        x = leaf(lib)
        calls = []
        first = x.register_hook(lambda g: calls.append(1))
        second = x.register_hook(lambda g: calls.append(2))
        with x.register_hook(lambda g: calls.append(3)):
            (x * 1).sum().backward()
        first.remove()
        first.remove()
        (x * 1).sum().backward()
        second.remove()
        (x * 1).sum().backward()
        return calls

    assert same(program) == [1, 2, 3, 2]


def test_hooks_stay_with_the_graph_that_they_were_registered_for():
    def program(lib):
        x = leaf(lib)
        y = x * 2
        calls = []
        handle = y.register_hook(lambda g: calls.append("old"))
        y.mul_(3)
        y.register_hook(lambda g: calls.append("new"))
        y.sum().backward(retain_graph=True)
        handle.remove()
        y.sum().backward()
        return calls

    same(program)


def test_hooks_run_when_the_tensor_is_gone():
    def program(lib):
        x = leaf(lib)
        y = x * 2
        calls = []
        y.register_hook(lambda g: calls.append(g))
        z = y.sum()
        del y
        z.backward()
        return calls

    same(program)


def test_node_hooks():
    def program(lib):
        x = leaf(lib)
        y = x * 2
        seen = []
        y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
        handle = y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + 1, None))
        y.sum().backward(retain_graph=True)
        handle.remove()
        y.sum().backward()
        return x.grad, seen

    same(program)


def test_post_accumulate_hooks():
    def program(lib):
        x = leaf(lib)
        seen = []

        def step(p):
            seen.append(p.grad.clone())
            p.grad = None

        x.register_post_accumulate_grad_hook(step)
        (x * 2).sum().backward()
        (x * 3).sum().backward()
        return seen, x.grad

    same(program)


def register(kind):
    def program(hook):
        def run(lib):
            x = leaf(lib)
            y = x * 2
            made = hook(lib)
            {"tensor": x.register_hook, "node": y.grad_fn.register_hook, "before": y.grad_fn.register_prehook,
             "after": x.register_post_accumulate_grad_hook}[kind](made)
            y.sum().backward()
            return x.grad

        return run

    return program


WRONG = [
    ("tensor", lambda lib: lambda g: 3, "expected Variable, but hook returned 'int'"),
    ("tensor", lambda lib: lambda g: lib.ones(4), "has changed the size of value"),
    ("tensor", lambda lib: lambda g: g.double(), "has changed the type of value"),
    ("tensor", lambda lib: lambda g: (g,), "expected Variable, but hook returned 'tuple'"),
    ("node", lambda lib: lambda i, o: 3, "expected tuple, but hook returned 'int'"),
    ("node", lambda lib: lambda i, o: i[0], "expected tuple, but hook returned 'Tensor'"),
    ("node", lambda lib: lambda i, o: (i[0],), "has returned an incorrect number of values (got 1, but expected 2)"),
    ("before", lambda lib: lambda g: 3, "expected tuple, but hook returned 'int'"),
    ("before", lambda lib: lambda g: (g[0], g[0]), "has returned an incorrect number of values (got 2, but expected "
                                                   "1)"),
]


@pytest.mark.parametrize("kind, hook, text", WRONG)
def test_what_hooks_must_not_return(kind, hook, text):
    same(register(kind)(hook), text=text)


def test_where_hooks_can_not_be():
    same(lambda lib: lib.ones(2).register_hook(lambda g: g), text="doesn't require gradient")
    same(lambda lib: lib.ones(2).register_post_accumulate_grad_hook(lambda g: g), text="doesn't require gradient")
    same(lambda lib: (leaf(lib) * 2).register_post_accumulate_grad_hook(lambda g: g), text="non-leaf")
    same(lambda lib: lib.ones(2).retain_grad(), text="can't retain_grad on Tensor that has requires_grad=False")
    with pytest.raises(TypeError, match="must be callable, not int"):
        leaf(shunt).register_hook(3)


class Stop(BaseException):
    pass


@pytest.mark.parametrize("kind", ["tensor", "node", "before", "after"])
def test_exceptions_come_out_as_they_were(kind):
    error = Stop()

    def hook(*args):
        raise error

    with pytest.raises(Stop) as caught:
        register(kind)(lambda lib: hook)(shunt)
    assert caught.value is error


class Marker:
    pass


@pytest.mark.parametrize("kind", ["leaf", "result", "node", "after"])
def test_circles_are_collected(kind):
    def make():
        x = leaf(shunt)
        y = x * 2
        marker = Marker()
        hook = lambda *args: (x, y, marker) and None
        if kind == "leaf":
            del y
            x.register_hook(lambda *args: (x, marker) and None)
        elif kind == "result":
            y.register_hook(hook)
        elif kind == "node":
            y.grad_fn.register_hook(hook)
            y.grad_fn.register_prehook(hook)
            y.marker = marker  # a tensor that the collector looks at
        else:
            del y
            x.register_post_accumulate_grad_hook(lambda *args: (x, marker) and None)
        return weakref.ref(marker)

    ref = make()
    gc.collect()
    assert ref() is None


def test_multi_grad_hooks():
    def program(lib):
        a, b, c = leaf(lib), leaf(lib), leaf(lib)
        calls = []
        handle = lib.autograd.graph.register_multi_grad_hook((a, b, c), lambda grads: calls.append(list(grads)))
        some = lib.autograd.graph.register_multi_grad_hook((a, b), lambda grad: calls.append(grad), mode="any")
        (a * 2 + b * 3).sum().backward()
        (a * b * c).sum().backward()
        handle.remove()
        some.remove()
        (a * b * c).sum().backward()
        return calls

    same(program)
