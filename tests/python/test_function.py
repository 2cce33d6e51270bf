"""autograd.Function: as PyTorch's, for functions right and wrong."""

import gc
import subprocess
import sys
import threading
import weakref

import pytest

import shunt
from twins import same


def function(lib, forward, backward, **more):
    """A Function of these two."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (lib.autograd.Function,), {**body, **more})


def leaf(lib, *values):
    return lib.tensor(list(values) or [1.0, 2.0, 3.0], requires_grad=True)


def exp_of(lib):
    class Exp(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad):
            (result,) = ctx.saved_tensors
            return grad * result

    return Exp


def test_one_result():
    def program(lib):
        x = leaf(lib)
        y = exp_of(lib).apply(x)
        y.sum().backward()
        return y.requires_grad, y.is_leaf, type(y.grad_fn).__name__, bool((x.grad == y).all())

    assert same(program) == [True, False, "ExpBackward", True]


def test_second_derivatives():
    def program(lib):
        x = leaf(lib)
        y = exp_of(lib).apply(x * x)
        (g,) = lib.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = lib.autograd.grad(g.sum(), x)
        return bool(((2 * y + 4 * x * x * y) - h).abs().max() < 1e-1)

    assert same(program) is True


def test_several_arguments_and_results():
    def program(lib):
        seen = []

        def forward(ctx, a, scale, b, name=None):
            ctx.scale, ctx.name = scale, name
            ctx.save_for_backward(a, None, b)
            seen.append(ctx.needs_input_grad)
            return a * b, "text", a + scale

        def backward(ctx, ga, gt, gs):
            a, nothing, b = ctx.saved_tensors
            seen.append((nothing, gt, ctx.name, ctx.needs_input_grad))
            return ga * b + gs, None, ga * a, None

        f = function(lib, forward, backward)
        a, b = leaf(lib), leaf(lib, 4.0, 5.0, 6.0)
        product, text, shifted = f.apply(a, 10, b, name="n")
        (product.sum() + (shifted * 2).sum()).backward()
        return product, text, shifted, a.grad, b.grad, seen

    same(program)


def test_arguments_without_gradient_need_none():
    def program(lib):
        f = function(lib, lambda ctx, a, b: a * b, lambda ctx, g: (g * 3, None))
        a, b = leaf(lib), lib.ones(3)
        f.apply(a, b).sum().backward()
        return a.grad, b.grad, f.apply(b, b).requires_grad

    same(program)


def test_setup_context():
    def program(lib):
        class Scale(lib.autograd.Function):
            @staticmethod
            def forward(x, factor=2.0):
                return x * factor

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.factor = inputs[1]
                ctx.shape = output.shape

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.factor, None

        x = leaf(lib)
        (Scale.apply(x).sum() + Scale.apply(x, 3.0).sum() + Scale.apply(x, factor=4.0).sum()).backward()
        return x.grad

    same(program)


def test_vjp_is_another_name_for_backward():
    def program(lib):
        class Twice(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def vjp(ctx, grad):
                return grad * 2

        x = leaf(lib)
        Twice.apply(x).sum().backward()
        return x.grad

    same(program)


def test_materialized_gradients():
    def program(lib):
        def run(materialize):
            got = []

            def forward(ctx, a):
                ctx.set_materialize_grads(materialize)
                return a * 1, a * 2

            def backward(ctx, ga, gb):
                got.append((ga, gb))
                return ga

            x = leaf(lib)
            function(lib, forward, backward).apply(x)[0].sum().backward()
            return got

        return run(True), run(False)

    same(program)


def test_results_that_are_not_differentiable():
    def program(lib):
        def forward(ctx, a):
            order = a.argsort()
            mask = a > 1
            ctx.mark_non_differentiable(order, mask)
            return a * 2, order, mask

        f = function(lib, forward, lambda ctx, ga, go, gm: ga * 2)
        x = leaf(lib)
        y, order, mask = f.apply(x)
        y.sum().backward()
        return x.grad, order.requires_grad, mask.requires_grad, y.requires_grad

    same(program)


def test_changes_in_place():
    def program(lib):
        def forward(ctx, a):
            a.mul_(2)
            ctx.mark_dirty(a)
            return a

        f = function(lib, forward, lambda ctx, g: g * 2)
        x = leaf(lib)
        y = x * 1
        before = y._version
        z = f.apply(y)
        z.sum().backward()
        return z is y, x.grad, y._version - before, y

    same(program)


@pytest.mark.parametrize("kind", ["identity", "view"])
def test_an_argument_that_is_returned(kind):
    def program(lib):
        forward = (lambda ctx, a: a) if kind == "identity" else (lambda ctx, a: a.view(-1))
        f = function(lib, forward, lambda ctx, g: g * 5)
        x = leaf(lib)
        y = f.apply(x)
        y.sum().backward()
        return y is x, y._is_view(), x.grad, y.requires_grad

    same(program)


def test_in_no_grad_nothing_is_recorded():
    def program(lib):
        x = leaf(lib)
        with lib.no_grad():
            y = exp_of(lib).apply(x)
        return y.requires_grad, y.grad_fn

    same(program)


def test_forward_is_not_recorded_and_backward_is_where_asked():
    def program(lib):
        seen = []

        def forward(ctx, a):
            seen.append(lib.is_grad_enabled())
            return a * 2

        def backward(ctx, g):
            seen.append(lib.is_grad_enabled())
            return g * 2

        f = function(lib, forward, backward)
        x = leaf(lib)
        f.apply(x).sum().backward()
        f.apply(x).sum().backward(create_graph=True)
        return seen

    same(program)


WRONG = [
    ("forward returns no Tensor", lambda lib, x: function(lib, lambda c, a: 3, lambda c, g: g).apply(x), None),
    ("forward returns a list", lambda lib, x: len(function(lib, lambda c, a: [a * 2], lambda c, g: g).apply(x)), None),
    ("forward returns None", lambda lib, x: function(lib, lambda c, a: None, lambda c, g: g).apply(x), None),
    ("too many gradients",
     lambda lib, x: function(lib, lambda c, a: a * 2, lambda c, g: (g, g)).apply(x).sum().backward(),
     "returned an incorrect number of gradients (expected 1, got 2)"),
    ("more gradients that are None",
     lambda lib, x: function(lib, lambda c, a: a * 2, lambda c, g: (g, None)).apply(x).sum().backward(), None),
    ("too few gradients",
     lambda lib, x: function(lib, lambda c, a, b: a * 2, lambda c, g: g).apply(x, 1).sum().backward(),
     "returned an incorrect number of gradients (expected 2, got 1)"),
    ("a gradient of a number",
     lambda lib, x: function(lib, lambda c, a, b: a * 2, lambda c, g: (g, g)).apply(x, 1).sum().backward(),
     "returned a gradient different than None at position 2, but the corresponding forward input was not a Variable"),
    ("a gradient that is a number",
     lambda lib, x: function(lib, lambda c, a: a * 2, lambda c, g: 3).apply(x).sum().backward(),
     "expected Variable or None (got int)"),
    ("a gradient of another shape",
     lambda lib, x: function(lib, lambda c, a: a * 2, lambda c, g: lib.ones(4)).apply(x).sum().backward(),
     "returned an invalid gradient at index 0 - got [4] but expected shape compatible with [3]"),
    ("saves a number", lambda lib, x: function(lib, lambda c, a: c.save_for_backward(1), None).apply(x),
     "save_for_backward can only save variables, but argument 0 is of type int"),
    ("marks a number dirty", lambda lib, x: function(lib, lambda c, a: (c.mark_dirty(1), a)[1], None).apply(x),
     "mark_dirty can only accept variables"),
    ("no forward", lambda lib, x: lib.autograd.Function.apply(x), "forward"),
    ("an unknown keyword", lambda lib, x: exp_of(lib).apply(x, zz=3), "unexpected keyword argument 'zz'"),
    ("too many arguments", lambda lib, x: exp_of(lib).apply(x, 1), "positional arguments"),
    ("a leaf marked dirty",
     lambda lib, x: function(lib, lambda c, a: (c.mark_dirty(a), a.add_(1))[1], lambda c, g: g).apply(x),
     "a leaf Variable that requires grad has been used in an in-place operation"),
    ("called as a function", lambda lib, x: exp_of(lib)()(x), ""),
]


@pytest.mark.parametrize("name, program, text", WRONG, ids=[w[0] for w in WRONG])
def test_what_is_wrong(name, program, text):
    same(lambda lib: program(lib, leaf(lib)), text=text)


def test_no_backward():
    class Nothing(shunt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.raises(NotImplementedError, match="either the backward or vjp method"):
        Nothing.apply(leaf(shunt)).sum().backward()


def test_exceptions_come_out_as_they_were():
    class Stop(Exception):
        pass

    error = Stop("here")

    def fail(*args):
        raise error

    with pytest.raises(Stop) as caught:
        function(shunt, fail, fail).apply(leaf(shunt))
    assert caught.value is error
    y = function(shunt, lambda ctx, a: a * 2, fail).apply(leaf(shunt))
    with pytest.raises(Stop) as caught:
        y.sum().backward()
    assert caught.value is error
    assert any(frame.name == "fail" for frame in caught.traceback)


def test_saved_tensors_are_freed_with_the_graph():
    x = leaf(shunt)
    y = exp_of(shunt).apply(x)
    assert y.grad_fn.saved_tensors[0] is not None
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.grad_fn.saved_tensors
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_a_saved_tensor_that_was_changed():
    def program(lib):
        x = leaf(lib)
        y = x * 1
        f = function(lib, lambda ctx, a: (ctx.save_for_backward(a), a * 2)[1], lambda ctx, g: g * ctx.saved_tensors[0])
        z = f.apply(y)
        y.add_(1)
        z.sum().backward()

    same(program, text="modified by an inplace operation")


def test_once_differentiable():
    def program(lib):
        f = function(lib, lambda ctx, a: a * a, lib.autograd.function.once_differentiable(lambda ctx, g: g * 2))
        x = leaf(lib)
        f.apply(x).sum().backward()
        (g,) = lib.autograd.grad((f.apply(x) * x).sum(), x, create_graph=True)
        g.sum().backward()

    same(program, text="once_differentiable")


def test_the_context_is_the_node():
    x = leaf(shunt)
    y = exp_of(shunt).apply(x)
    ctx = y.grad_fn
    assert ctx is y.grad_fn and ctx.name() == "ExpBackward"
    assert [type(f).__name__ for f, _ in ctx.next_functions] == ["AccumulateGrad"]
    assert isinstance(ctx, shunt.autograd.graph.Node)
    ctx.note = "kept"
    y.grad_fn.metadata["also"] = 1
    del ctx
    gc.collect()
    assert y.grad_fn.note == "kept" and y.grad_fn.metadata == {"also": 1}


def test_a_context_may_outlive_its_graph():
    y = exp_of(shunt).apply(leaf(shunt))
    ctx = y.grad_fn
    ctx.note = 1
    del y
    gc.collect()
    assert ctx.note == 1
    with pytest.raises(RuntimeError, match="graph no longer exists"):
        ctx.next_functions


class Marker:
    pass


@pytest.mark.parametrize("how", ["result on the context", "context on itself", "input on the context"])
def test_circles_are_collected(how):
    def make():
        x = leaf(shunt)
        marker = Marker()
        y = exp_of(shunt).apply(x)
        y.grad_fn.marker = marker
        if how == "result on the context":
            y.grad_fn.result = y
        elif how == "context on itself":
            y.grad_fn.itself = y.grad_fn
        else:
            y.grad_fn.input = x
        return weakref.ref(marker)

    ref = make()
    gc.collect()
    assert ref() is None


def test_what_the_graph_needs_is_not_collected():
    x = leaf(shunt)
    y = exp_of(shunt).apply(x)
    y.grad_fn.itself = y.grad_fn
    y.grad_fn.marker = Marker()
    z = y * 2
    del y
    gc.collect()
    assert isinstance(z.grad_fn.next_functions[0][0].marker, Marker)
    z.sum().backward()
    assert x.grad is not None


def test_threads():
    errors = []

    def work():
        try:
            for _ in range(200):
                x = leaf(shunt)
                exp_of_x = EXP.apply(x)
                exp_of_x.sum().backward()
                assert bool((x.grad == exp_of_x).all())
        except BaseException as error:
            errors.append(error)

    EXP = exp_of(shunt)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_a_graph_that_ends_on_another_thread():
    y = exp_of(shunt).apply(leaf(shunt))
    marker = Marker()
    y.grad_fn.marker = marker
    ref = weakref.ref(marker)
    del marker
    box = [y]
    del y
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert ref() is None


@pytest.mark.parametrize("what", ["nothing", "attribute", "saved"])
def test_long_chains_end_without_recursion(what):
    class AddOne(shunt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if what == "attribute":
                ctx.x = x
            elif what == "saved":
                ctx.save_for_backward(x)
            return x + 1

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = y = leaf(shunt, 0.0)
    for _ in range(50_000):
        y = AddOne.apply(y)
    last = weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert last() is None
    for _ in range(5000):
        x = AddOne.apply(x)
    x.sum().backward()


AT_THE_END = """
import threading, time, shunt

class Twice(shunt.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

def work():
    while True:
        x = shunt.ones(3, requires_grad=True)
        Twice.apply(x * 2).sum().backward()

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
y = Twice.apply(shunt.ones(3, requires_grad=True))
y.grad_fn.result = y
time.sleep(0.05)
print("done")
"""


def test_threads_that_run_backward_when_the_interpreter_ends():
    for _ in range(5):
        run = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True, timeout=120)
        assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
