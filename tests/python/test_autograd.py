"""backward, grad, grad_fn, modes, saved-tensor hooks, functional, checkpoint: as PyTorch has them."""

import gc
import threading

import pytest

import shunt
from twins import close, outcome, same, torch


def leaf(lib, *values):
    return lib.tensor(list(values) or [1.0, 2.0, 3.0], requires_grad=True)


def test_grad_fn():
    def program(lib):
        x = leaf(lib)
        y = (x * 2 + 1).relu().sum()
        chain, node = [], y.grad_fn
        while node is not None:
            shown = repr(node).split(" object")[0]
            chain.append((node.name().split("::")[-1], type(node).__name__, shown, len(node.next_functions)))
            last, node = node, node.next_functions[0][0] if node.next_functions else None
        is_node = isinstance(y.grad_fn, lib.autograd.graph.Node)
        return chain, last.variable is x, y.grad_fn is y.grad_fn, x.grad_fn, is_node

    same(program)


def test_in_place_operators_and_views_have_pytorchs_nodes():
    def program(lib):
        x = leaf(lib)
        names = []
        for change in (lambda t: t.add_(1), lambda t: t.mul_(2), lambda t: t.div_(2), lambda t: t.zero_(),
                       lambda t: t.fill_(1)):
            y = x * 1
            change(y)
            names.append(y.grad_fn.name())
        y = x * 1
        names.append(y[0].grad_fn.name())
        y[0] = 5.0
        names.append(y.grad_fn.name().split("::")[-1])
        return names

    same(program)


def test_metadata_stays_with_the_node():
    x = leaf(shunt)
    y = x * 2
    y.grad_fn.metadata["note"] = [1]
    gc.collect()
    assert y.grad_fn.metadata == {"note": [1]}
    accumulator = y.grad_fn.next_functions[0][0]
    assert (x * 3).grad_fn.next_functions[0][0] is accumulator


def test_backward_adds_up():
    def program(lib):
        x = leaf(lib)
        for _ in range(2):
            (x * x).sum().backward()
        first = x.grad.clone()
        x.grad.zero_()
        (x * 2).backward(lib.ones(3))
        return first, x.grad

    same(program)


def test_backward_to_some_inputs():
    def program(lib):
        a, b = leaf(lib), leaf(lib)
        c = a * 2
        (c * b).sum().backward(inputs=[a, c])
        return a.grad, b.grad, c.grad

    same(program)


def test_grad():
    def program(lib):
        a, b, c = leaf(lib), leaf(lib), leaf(lib)
        y = (a * b).sum()
        some = lib.autograd.grad(y, (a, c), allow_unused=True, retain_graph=True)
        zeros = lib.autograd.grad(y, (a, c), materialize_grads=True, retain_graph=True)
        weighted = lib.autograd.grad(a * b, a, lib.tensor([1.0, 2.0, 3.0]))
        several = lib.autograd.grad((y, a.sum()), a, (lib.tensor(2.0), None))
        return some, zeros, weighted, several, a.grad

    same(program)


def test_batched_grad():
    def program(lib):
        x = leaf(lib)
        y = x * x
        return lib.autograd.grad(y, x, lib.eye(3), is_grads_batched=True)

    same(program)


def test_double_backward():
    def program(lib):
        x = leaf(lib)
        (g,) = lib.autograd.grad((x**3).sum(), x, create_graph=True)
        (h,) = lib.autograd.grad(g.sum(), x)
        return g, h, g.requires_grad

    same(program)


WRONG = [
    ("no gradient",
     lambda lib: lib.ones(2).sum().backward(),
     "does not require grad and does not have a grad_fn"),
    ("not a number",
     lambda lib: leaf(lib).backward(),
     "grad can be implicitly created only for scalar outputs"),
    ("twice",
     lambda lib: [y.backward() for y in [leaf(lib).exp().sum()] * 2],
     "Trying to backward through the graph a second time"),
    ("shape",
     lambda lib: (leaf(lib) * 2).backward(lib.ones(4)),
     "Mismatch in shape: grad_output[0] has a shape of"),
    ("unused", lambda lib: lib.autograd.grad(leaf(lib).sum(), leaf(lib)), "to not have been used in the graph"),
    ("no grad input",
     lambda lib: lib.autograd.grad(leaf(lib).sum(), lib.ones(2)),
     "One of the differentiated Tensors does not require grad"),
    ("empty inputs", lambda lib: leaf(lib).sum().backward(inputs=[]), "empty"),
    ("materialize",
     lambda lib: lib.autograd.grad(leaf(lib).sum(), leaf(lib), allow_unused=False, materialize_grads=True),
     "materialize_grads"),
    ("grad of another type",
     lambda lib: setattr(leaf(lib), "grad", 3),
     "assigned grad expected to be a Tensor or None"),
    ("grad of itself", lambda lib: [setattr(x, "grad", x) for x in [leaf(lib)]], "can't assign"),
    ("grad of another shape",
     lambda lib: setattr(leaf(lib), "grad", lib.ones(4)),
     "attempting to assign a gradient of size '[4]' to a tensor of size '[3]'"),
    ("grad of another dtype",
     lambda lib: setattr(leaf(lib), "grad", lib.ones(3).double()),
     "attempting to assign a gradient with dtype"),
    ("integers", lambda lib: lib.ones(2, dtype=lib.int64).requires_grad_(), "floating point"),
    ("integers, by attribute", lambda lib: setattr(lib.ones(2, dtype=lib.int64), "requires_grad", True),
     "floating point"),
    ("off for a result",
     lambda lib: (leaf(lib) * 2).requires_grad_(False),
     "you can only change requires_grad flags of leaf variables"),
    ("a leaf in place",
     lambda lib: leaf(lib).add_(1),
     "a leaf Variable that requires grad is being used in an in-place operation"),
    ("a leaf's view in place",
     lambda lib: leaf(lib)[0].add_(1),
     "a view of a leaf Variable that requires grad is being used in an in-place operation"),
    ("saved and changed",
     lambda lib: [(z, y.add_(1), z.sum().backward()) for y in [leaf(lib) * 1] for z in [y.exp() * y]],
     "modified by an inplace operation"),
    ("item", lambda lib: leaf(lib).item(), "cannot be converted to Scalar"),
    ("detach a view in place", lambda lib: (leaf(lib) * 2)[0].detach_(), "detach"),
    ("numpy", lambda lib: leaf(lib).numpy(), "requires grad"),
    ("out=",
     lambda lib: lib.add(leaf(lib), 1, out=lib.ones(3)),
     "out=... arguments don't support automatic differentiation"),
    ("deepcopy", lambda lib: __import__("copy").deepcopy(leaf(lib) * 2), "deepcopy"),
    ("delete data", lambda lib: delattr(leaf(lib), "data"), "Deleting tensor data is not allowed"),
    ("requires_grad of a number",
     lambda lib: setattr(lib.ones(2), "requires_grad", 1),
     "requires_grad must be a bool"),
    ("multi view in place", lambda lib: (leaf(lib) * 2).unbind(0)[0].add_(1), "view"),
    ("no_grad view in place", lambda lib: no_grad_view(lib).add_(1), "no_grad"),
]


def no_grad_view(lib):
    y = leaf(lib) * 2
    with lib.no_grad():
        return y[0]


@pytest.mark.parametrize("name, program, text", WRONG, ids=[w[0] for w in WRONG])
def test_what_is_wrong(name, program, text):
    same(program, text=text)


def test_grad_of_what_is_no_leaf_warns():
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        (leaf(shunt) * 2).grad


def test_detach():
    def program(lib):
        x = leaf(lib)
        y = x * 2
        d = y.detach()
        e = x * 3
        e.detach_()
        d.add_(1)
        return y, d.requires_grad, e.requires_grad, e.is_leaf, d.is_leaf, y.data.requires_grad

    same(program)


def test_modes():
    def program(lib):
        seen = []
        note = lambda: seen.append(lib.is_grad_enabled())
        with lib.no_grad():
            note()
            with lib.enable_grad():
                note()
                with lib.set_grad_enabled(False):
                    note()
                note()
            note()
        note()
        try:
            with lib.no_grad():
                raise KeyError
        except KeyError:
            note()
        for decorate in (lib.no_grad, lib.no_grad(), lib.enable_grad, lib.set_grad_enabled(False), lib.inference_mode):
            decorate(note)()
            note()

        @lib.no_grad()
        def generator():
            note()
            got = yield 1
            note()
            try:
                yield got
            except ValueError:
                note()
            return 7

        g = generator()
        next(g)
        note()
        seen.append(g.send(5))
        try:
            g.throw(ValueError)
        except StopIteration as end:
            seen.append(end.value)
        note()
        lib.set_grad_enabled(False)
        note()
        lib.set_grad_enabled(True)
        return seen

    same(program)
    same(lambda lib: lib.set_grad_enabled(1), text="must be bool, not int")
    same(lambda lib: lib.no_grad()(generator_with_close(lib))(), text=None)


def generator_with_close(lib):
    closed = []

    def generator():
        try:
            yield 1
        finally:
            closed.append(lib.is_grad_enabled())

    def run():
        g = lib.no_grad()(generator)()
        next(g)
        g.close()
        return closed

    return run


def test_modes_are_a_threads_own():
    seen = []
    with shunt.no_grad():
        thread = threading.Thread(target=lambda: seen.append(shunt.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_inference_mode():
    def program(lib):
        with lib.inference_mode():
            y = leaf(lib) * 2
            state = lib.is_inference_mode_enabled(), y.is_inference(), y.requires_grad
        with lib.inference_mode(False):
            state += (lib.is_inference_mode_enabled(),)
        return state

    same(program)
    same(lambda lib: (leaf(lib) * inference_tensor(lib)).sum().backward(), text="Inference tensors")


def inference_tensor(lib):
    with lib.inference_mode():
        return lib.ones(3) * 2


def test_threads_run_backward_at_once():
    x = leaf(shunt)
    graphs = [(x * float(i)).exp().sum() for i in range(8)]
    big = shunt.ones(200, 200, requires_grad=True)
    shared = (big @ big).sum()
    errors = []

    def work(y):
        try:
            y.backward()
            shared.backward(retain_graph=True)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(y,)) for y in graphs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    expected = sum(i * (x.detach() * float(i)).exp() for i in range(8))
    assert bool((x.grad - expected).abs().max() < 1e-2 * expected.abs().max())
    assert big.grad[0, 0].item() == 8 * 400


def test_backward_in_hooks_and_functions():
    def program(lib):
        x, z = leaf(lib), leaf(lib)
        x.register_hook(lambda g: (z * g.detach()).sum().backward())
        (x * 2).sum().backward()
        return x.grad, z.grad

    same(program)


def test_saved_tensors_hooks():
    def program(lib):
        packed, unpacked = [], []

        def pack(t):
            packed.append(t.tolist())
            return t.detach().clone()

        def unpack(t):
            unpacked.append(t.tolist())
            return t * 2

        x, y = leaf(lib), leaf(lib, 4.0, 5.0, 6.0)
        with lib.autograd.graph.saved_tensors_hooks(pack, unpack):
            z = x * y
            with lib.autograd.graph.saved_tensors_hooks(lambda t: 0, lambda t: lib.ones(3)):
                w = x * y
        z.sum().backward()
        w.sum().backward()
        return packed, unpacked, x.grad, y.grad

    same(program)


def test_wrong_saved_tensors_hooks():
    def with_hooks(pack, unpack):
        def program(lib):
            with lib.autograd.graph.saved_tensors_hooks(pack, unpack):
                y = leaf(lib).exp()
            y.sum().backward()

        return program

    same(with_hooks(lambda t: t, lambda t: 3), text="unpack_hook expected to be a Tensor but got result of type")
    same(with_hooks(lambda t: t.add_(1), lambda t: t), text="is modifying its input in place")
    same(with_hooks(lambda t: 1 / 0, lambda t: t), text="division by zero")
    same(with_hooks(lambda t: t, lambda t: 1 / 0), text="division by zero")

    def disabled(lib):
        with lib.autograd.graph.disable_saved_tensors_hooks("not here"):
            with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                pass

    same(disabled, text="not here")


def test_save_on_cpu_and_mutation_of_saved_tensors():
    def program(lib):
        x = leaf(lib)
        with lib.autograd.graph.save_on_cpu():
            y = x.exp()
        y.sum().backward()
        with lib.autograd.graph.allow_mutation_on_saved_tensors():
            a = x * 1
            b = a * a
            a.zero_()
            b.sum().backward()
        return bool(((x.grad - y - 2 * x).abs() < 1e-5).all())

    assert same(program) is True


def cube(x):
    return (x**3).sum()


def pair(x, y):
    return (x * y).sum(), x + 2 * y


FUNCTIONAL = [
    lambda lib, f: f.jacobian(lambda x: x**2, lib.tensor([1.0, 2.0])),
    lambda lib, f: f.jacobian(pair, (lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0]))),
    lambda lib, f: f.jacobian(lambda x: lib.ones(2), lib.tensor([1.0, 2.0])),
    lambda lib, f: f.jacobian(lambda x: lib.ones(2), lib.tensor([1.0, 2.0]), strict=True),
    lambda lib, f: f.jacobian(lambda x: x.sum(), lib.ones(2, 2), create_graph=True),
    lambda lib, f: f.hessian(cube, lib.tensor([1.0, 2.0])),
    lambda lib, f: f.hessian(lambda x, y: (x * y * y).sum(), (lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0]))),
    lambda lib, f: f.hessian(lambda x: x, lib.tensor([1.0, 2.0])),
    lambda lib, f: f.vjp(lambda x: x**2, lib.tensor([1.0, 2.0]), lib.tensor([1.0, 1.0])),
    lambda lib, f: f.vjp(pair, (lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0])),
                         (lib.tensor(1.0), lib.tensor([1.0, 2.0]))),
    lambda lib, f: f.vjp(lambda x: x**2, lib.tensor([1.0, 2.0])),
    lambda lib, f: f.vjp(lambda x: x**2, lib.tensor([1.0, 2.0]), lib.ones(3)),
    lambda lib, f: f.jvp(lambda x: x**2, lib.tensor([1.0, 2.0]), lib.tensor([1.0, 1.0])),
    lambda lib, f: f.jvp(pair, (lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0])), (lib.ones(2), lib.ones(2))),
    lambda lib, f: f.vhp(cube, lib.tensor([1.0, 2.0]), lib.tensor([1.0, 3.0])),
    lambda lib, f: f.hvp(cube, lib.tensor([1.0, 2.0]), lib.tensor([1.0, 3.0])),
    lambda lib, f: f.vjp(lambda x: 3, lib.tensor([1.0, 2.0])),
    lambda lib, f: f.vjp(lambda x: x, 3),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONAL)))
def test_functional(number):
    program = FUNCTIONAL[number]
    ours = outcome(lambda lib: program(lib, lib.autograd.functional), shunt)
    theirs = outcome(lambda lib: program(lib, lib.autograd.functional), torch)
    if isinstance(theirs, tuple):
        assert ours[0] == theirs[0]
    else:
        close(lambda lib: program(lib, lib.autograd.functional))


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoint(use_reentrant):
    def program(lib):
        from importlib import import_module
        module = import_module(lib.__name__ + ".utils.checkpoint")
        runs = []

        def part(a, b, k):
            runs.append(lib.is_grad_enabled())
            return (a * b).tanh() * k

        x, y = leaf(lib), leaf(lib, 0.1, 0.2, 0.3)
        z = module.checkpoint(part, x * 1, y, 2, use_reentrant=use_reentrant)
        z.sum().backward()
        chained = module.checkpoint_sequential([lambda t: t * 2, lambda t: t.sin(), lambda t: t * t], 2, x * 1,
                                               use_reentrant=use_reentrant)
        chained.sum().backward()
        return runs, x.grad, y.grad

    close(program)


def test_checkpoint_repeats_random_numbers():
    from shunt.utils.checkpoint import checkpoint

    def noisy(a):
        return a * shunt.rand(3)

    for use_reentrant in (False, True):
        x = leaf(shunt)
        y = checkpoint(noisy, x, use_reentrant=use_reentrant)
        y.sum().backward()
        assert bool((x.grad * x - y).abs().max() < 1e-6)


def test_checkpoint_of_what_differs_the_second_time():
    from shunt.utils.checkpoint import CheckpointError, checkpoint

    runs = []

    def changing(a):
        runs.append(1)
        return a.exp() if len(runs) == 1 else a[:1].exp()

    y = checkpoint(changing, leaf(shunt) * 1, use_reentrant=False)
    with pytest.raises(CheckpointError, match=r"tensor 0 was \(shunt.Size\(\[3\]\)"):
        y.sum().backward()


def test_long_graphs_end_without_recursion():
    y = leaf(shunt)
    for _ in range(100_000):
        y = y + 1
    y.sum().backward()
    node = y.grad_fn
    del y
    assert node.name() == "AddBackward0"


SAVING = """x * x; x.exp(); x**2; x.relu(); x[1]; x[lib.tensor([0, 1])]; lib.cat([x, x]); x.clamp(0, 1); x / x; x.sum(0, True)
x.reshape(3, 1) @ x.reshape(1, 3); lib.stack([x, x]); x.max(0)[0]; lib.where(x > 1, x, x); x.sigmoid(); x.prod()"""


@pytest.mark.parametrize("text", [t.strip() for line in SAVING.splitlines() for t in line.split(";")])
def test_saved_values(text):
    def program(lib):
        node = eval(text, {"lib": lib, "x": leaf(lib)}).grad_fn
        # Sizes and strides, by which PyTorch's compiler knows them, are left out.
        saved = {name: getattr(node, name) for name in dir(node) if name.startswith("_saved") and "_sym_" not in name}
        saved = {name: value.detach() if isinstance(value, lib.Tensor) else value for name, value in saved.items()}
        return {name: str(value).replace("shunt", "torch") for name, value in saved.items()}

    same(program)


def test_saved_values_are_freed_with_the_graph():
    x = leaf(shunt)
    y = x * x
    assert y.grad_fn._saved_self is x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.grad_fn._saved_self
