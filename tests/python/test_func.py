"""shunt.func, beside torch.func where that is installed: values, structures, nesting, errors."""

import pytest

import shunt
from shunt.func import (
    functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, stack_module_state, vjp, vmap,
)
from shunt.utils import _pytree as pytree


def data(library, *shape, shift=0.0):
    """The same numbers in either library."""
    n = 1
    for size in shape:
        n *= size
    return (library.arange(n, dtype=library.float64) * 0.37 + shift).cos().reshape(shape)


def is_close(a, b):
    flat = lambda x: [x] if not isinstance(x, list) else [z for y in x for z in flat(y)]
    return len(flat(a)) == len(flat(b)) and all(abs(p - q) <= 1e-9 * max(1.0, abs(p), abs(q)) for p,
                                                q in zip(flat(a), flat(b)))


def lists(tree, kind):
    """The tree with lists in the place of tensors, without their classes' names."""
    if isinstance(tree, kind):
        return tree.tolist()
    if isinstance(tree, dict):
        return {k: lists(v, kind) for k, v in tree.items()}
    return [lists(t, kind) for t in tree] if isinstance(tree, (tuple, list)) else tree


def check(program):
    """Runs program(library, its func, data) in both libraries."""
    torch = pytest.importorskip("torch")
    mine = lists(program(shunt, shunt.func, lambda *shape, **k: data(shunt, *shape, **k)), shunt.Tensor)
    theirs = lists(program(torch, torch.func, lambda *shape, **k: data(torch, *shape, **k)), torch.Tensor)

    def compare(a, b):
        if isinstance(a, dict):
            assert list(a) == list(b)
            for k in a:
                compare(a[k], b[k])
        elif isinstance(a, list) and any(isinstance(x, (list, dict)) for x in a):
            assert len(a) == len(b)
            for x, y in zip(a, b):
                compare(x, y)
        else:
            assert is_close(a, b), (a, b)
    compare(mine, theirs)


def loss(w, x, y):
    return ((x @ w).tanh() - y).square().mean()


PROGRAMS = {
    "grad": lambda L, F, d: F.grad(lambda x: (x ** 3).sum())(d(4)),
    "grad of several": lambda L, F, d: F.grad(lambda x, y: (x * y.sin()).sum(), argnums=(1, 0))(d(4), d(4, shift=1.0)),
    "grad by the last": lambda L, F, d: F.grad(lambda x, y: (x * y.sin()).sum(), argnums=-1)(d(4), d(4, shift=1.0)),
    "grad of a dict": lambda L, F, d: F.grad(lambda p: (p["w"] * p["b"][0]).sum())({"w": d(3), "b": [d(3, shift=2.0)]}),
    "grad_and_value": lambda L, F, d: F.grad_and_value(lambda x: (x.exp().sum(), {"aux": x * 2}), has_aux=True)(d(3)),
    "grad with aux": lambda L, F, d: F.grad(lambda x: (x.exp().sum(), (x * 2, x.sum())), has_aux=True)(d(3)),
    "grad of an unused one": lambda L, F, d: F.grad(lambda x, y: y.sum())(d(3), d(3)),
    "grad of grad": lambda L, F, d: F.grad(lambda x: F.grad(lambda z: z.sin())(x) * x)(d(1)[0]),
    "grad of grad of grad": lambda L, F, d: F.grad(F.grad(F.grad(lambda x: x ** 4)))(d(1)[0]),
    "vjp": lambda L, F,
    d: (lambda out,
        pull: (out, pull((d(3), d(3, shift=1.0)))))(*F.vjp(lambda x, y: (x * y, x.sin()), d(3), d(3, shift=.5))),
    "vjp of one": lambda L, F, d: (lambda out, pull: (out, pull(d(2, 3))))(*F.vjp(lambda x: x.exp(), d(2, 3))),
    "vjp of a dict": lambda L, F, d: F.vjp(lambda x: {"a": x * 2, "b": x.sum()}, d(3))[1]({"a": d(3), "b": d(1)[0]}),
    "jvp": lambda L, F, d: F.jvp(lambda x: x.sin() * x, (d(4),), (d(4, shift=1.0),)),
    "jvp of several": lambda L, F,
    d: F.jvp(lambda x, y: (x * y, x.sum()), (d(4), d(4, shift=2.0)), (d(4, shift=1.0), d(4, shift=3.0))),
    "jvp with aux": lambda L, F, d: F.jvp(lambda x: (x.sin(), x), (d(4),), (d(4, shift=1.0),), has_aux=True),
    "grad of jvp": lambda L, F, d: F.grad(lambda x: F.jvp(lambda z: z ** 3, (x,), (x * 2,))[1].sum())(d(4)),
    "jacrev": lambda L, F, d: F.jacrev(lambda x: x.sin() * x.sum())(d(3)),
    "jacrev of several": lambda L, F, d: F.jacrev(lambda x, y: (x * y, x.sum()), argnums=(0, 1))(d(3), d(3, shift=1.0)),
    "jacrev of dicts": lambda L, F,
    d: F.jacrev(lambda p: {"out": p["a"].sin().outer(p["b"])})({"a": d(2), "b": d(3, shift=1.)}),
    "jacrev with aux": lambda L, F, d: F.jacrev(lambda x: (x ** 2, x.sum()), has_aux=True)(d(3)),
    "jacrev in chunks": lambda L, F, d: F.jacrev(lambda x: x.exp() * x.sum(), chunk_size=2)(d(5)),
    "jacfwd": lambda L, F, d: F.jacfwd(lambda x: x.sin() * x.sum())(d(3)),
    "jacfwd of several": lambda L, F, d: F.jacfwd(lambda x, y: (x * y, x.sum()), argnums=(0, 1))(d(3), d(3, shift=1.0)),
    "hessian": lambda L, F, d: F.hessian(lambda x: (x ** 3).sum() * x[0])(d(3)),
    "hessian of several": lambda L, F,
    d: F.hessian(lambda x, y: (x * y).sin().sum(), argnums=(0, 1))(d(2), d(2, shift=1.0)),
    "jacfwd of jacrev": lambda L, F, d: F.jacfwd(F.jacrev(lambda x: (x ** 3).sum()))(d(3)),
    "linearize": lambda L, F, d: (lambda out, f: (out, f(d(3, shift=2.0))))(*F.linearize(lambda x: x.sin() * x, d(3))),
    "vmap": lambda L, F, d: F.vmap(lambda x, y: (x * y).sum())(d(5, 3), d(5, 3, shift=1.0)),
    "vmap with in_dims": lambda L, F, d: F.vmap(lambda x, y: x @ y, in_dims=(1, None))(d(3, 5), d(3, 2)),
    "vmap with negative ones": lambda L, F, d: F.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1)(d(2, 3, 4)),
    "vmap of containers": lambda L, F,
    d: F.vmap(lambda p, x: {"out": p["w"] @ x, "x": [x]}, in_dims=({"w": None}, 0))({"w": d(2, 3)}, d(4, 3)),
    "vmap with out_dims": lambda L, F, d: F.vmap(lambda x: (x, x * 2), out_dims=(0, 1))(d(4, 3)),
    "vmap with one out_dim": lambda L, F, d: F.vmap(lambda x: (x, x * 2), out_dims=1)(d(4, 3)),
    "vmap without a batch in a result": lambda L, F, d: F.vmap(lambda x: (x, 3.0), out_dims=(0, None))(d(4, 3)),
    "vmap repeats what all share": lambda L, F, d: F.vmap(lambda x: d(2))(d(4, 3)),
    "vmap of a result given twice": lambda L, F, d: F.vmap(lambda x: (x, [x, x * 2], {"a": x}))(d(4, 3)),
    "vmap of one given twice, with dims": lambda L, F,
    d: F.vmap(lambda x: [x * 2] * 3, out_dims=[0, 1, -1], chunk_size=2)(d(4, 3)),
    "vmap of vmap of a result given twice": lambda L, F, d: F.vmap(F.vmap(lambda x: [x * 2] * 2))(d(4, 3)),
    "vmap of vjp of a result given twice": lambda L, F, d: F.vmap(lambda x: F.vjp(lambda y: (y, y), x)[0])(d(4, 3)),
    "vjp of a result given twice": lambda L, F, d: F.vjp(lambda x: (x, x), d(3))[1]((d(3), d(3))),
    "jacrev of a result given twice": lambda L, F, d: F.jacrev(lambda x: [x * 2] * 2)(d(3)),
    "jacfwd of a result given twice": lambda L, F, d: F.jacfwd(lambda x: [x * 2] * 2)(d(3)),
    "linearize of a result given twice": lambda L, F, d: F.linearize(lambda x: (x, x), d(3))[1](d(3, shift=1.0)),
    "aux given twice": lambda L, F, d: F.grad_and_value(lambda x: (x.sum(), [x.sum()] * 2), has_aux=True)(d(3)),
    "vmap in chunks": lambda L, F, d: F.vmap(lambda x: (x.sum(), x * 2), out_dims=(0, 1), chunk_size=2)(d(5, 3)),
    "vmap with keywords": lambda L, F, d: F.vmap(lambda x, y=None: x + y)(d(3), y=d(3, shift=1.0)),
    "vmap of vmap": lambda L, F,
    d: F.vmap(F.vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))(d(3), d(4, shift=1.0)),
    "per-sample gradients": lambda L, F,
    d: F.vmap(F.grad(loss), in_dims=(None, 0, 0))(d(3, 2), d(5, 3), d(5, 2, shift=1.0)),
    "gradient of a batch": lambda L, F,
    d: F.grad(lambda w, x, y: F.vmap(loss, in_dims=(None, 0, 0))(w, x, y).sum())(d(3, 2), d(5, 3), d(5, 2)),
    "vmap of jacrev": lambda L, F, d: F.vmap(F.jacrev(lambda x: x.sin() * x.sum()))(d(4, 3)),
    "vmap of hessian": lambda L, F, d: F.vmap(F.hessian(lambda x: (x ** 3).prod()))(d(4, 3)),
    "vmap of jvp": lambda L, F,
    d: F.vmap(lambda x, t: F.jvp(lambda z: z.sin() * z.sum(), (x,), (t,))[1])(d(4, 3), d(4, 3, shift=1.0)),
    "grad of vmap of grad": lambda L, F,
    d: F.grad(lambda w: F.vmap(F.grad(loss), in_dims=(None, 0, 0))(w, d(5, 3), d(5, 2)).square().sum())(d(3, 2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_pytorch_gives(name):
    check(PROGRAMS[name])


ERRORS = {
    "grad of a vector": (RuntimeError, lambda F, x: F.grad(lambda x: x)(x)),
    "grad of a number": (RuntimeError, lambda F, x: F.grad(lambda x: 3.0)(x)),
    "grad of a tuple": (RuntimeError, lambda F, x: F.grad(lambda x: (x.sum(),))(x)),
    "grad by a number": (ValueError, lambda F, x: F.grad(lambda x: x)(3.0)),
    "grad by integers": (RuntimeError, lambda F, x: F.grad(lambda x: x.sum())((x > 0) + (x > 0))),
    "argnums beyond": (RuntimeError, lambda F, x: F.grad(lambda x: x.sum(), argnums=1)(x)),
    "argnums of str": (RuntimeError, lambda F, x: F.grad(lambda x: x.sum(), argnums="a")(x)),
    "no argnums": (RuntimeError, lambda F, x: F.grad(lambda x: x.sum(), argnums=())(x)),
    "argnums twice": (RuntimeError, lambda F, x: F.grad(lambda x, y: x.sum(), argnums=(0, 0))(x, x)),
    "no aux": (RuntimeError, lambda F, x: F.grad(lambda x: x.sum(), has_aux=True)(x)),
    "in_dims None": (ValueError, lambda F, x: F.vmap(lambda x: x, in_dims=None)(x)),
    "in_dims of another structure": (ValueError, lambda F, x: F.vmap(lambda x, y: x, in_dims=(0,))(x, x)),
    "in_dims of a list": (ValueError, lambda F, x: F.vmap(lambda x: x, in_dims=[0])(x)),
    "in_dims all None": (ValueError, lambda F, x: F.vmap(lambda x: x, in_dims=(None,))(x)),
    "a batch of a number": (ValueError, lambda F, x: F.vmap(lambda x, y: x)(x, 3)),
    "a batch of a scalar": (ValueError, lambda F, x: F.vmap(lambda x: x)(x.sum())),
    "in_dims beyond": (ValueError, lambda F, x: F.vmap(lambda x: x, in_dims=2)(x)),
    "batches that differ": (ValueError, lambda F, x: F.vmap(lambda x, y: x)(x, x[:2])),
    "a result that is a number": (ValueError, lambda F, x: F.vmap(lambda x: 3)(x)),
    "a result of None": (ValueError, lambda F, x: F.vmap(lambda x: None)(x)),
    "a batch where out_dims has None": (ValueError, lambda F, x: F.vmap(lambda x: x, out_dims=None)(x)),
    "out_dims of another structure": (ValueError, lambda F, x: F.vmap(lambda x: x, out_dims=(0, 1))(x)),
    "out_dims beyond": (IndexError, lambda F, x: F.vmap(lambda x: x, out_dims=2)(x)),
    "out_dims of str": (ValueError, lambda F, x: F.vmap(lambda x: x, out_dims="a")(x)),
    "randomness": (RuntimeError, lambda F, x: F.vmap(lambda x: x, randomness="some")(x)),
    "chunk_size 0": (ValueError, lambda F, x: F.vmap(lambda x: x, chunk_size=0)),
    "no arguments": (ValueError, lambda F, x: F.vmap(lambda: 1)()),
    "item": (RuntimeError, lambda F, x: F.vmap(lambda x: x.item())(x)),
    "a branch on values": (RuntimeError, lambda F, x: F.vmap(lambda x: x if x > 0 else -x)(x)),
    "vjp of a number": (RuntimeError, lambda F, x: F.vjp(lambda x: 3, x)),
    "cotangents of another structure": (RuntimeError, lambda F, x: F.vjp(lambda x: x, x)[1]((x,))),
    "cotangents of another shape": (RuntimeError, lambda F, x: F.vjp(lambda x: x, x)[1](x[:2])),
    "vjp without aux": (RuntimeError, lambda F, x: F.vjp(lambda x: x, x, has_aux=True)),
    "primals that are no tuple": (RuntimeError, lambda F, x: F.jvp(lambda x: x, x, x)),
    "tangents of another structure": (RuntimeError, lambda F, x: F.jvp(lambda x: x, (x,), (x, x))),
    "tangents of another shape": (RuntimeError, lambda F, x: F.jvp(lambda x: x, (x,), (x[:2],))),
    "jacrev of a number": (RuntimeError, lambda F, x: F.jacrev(lambda x: 3)(x)),
    "jacrev in chunks of 0": (ValueError, lambda F, x: F.jacrev(lambda x: x, chunk_size=0)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_of_pytorchs_kind(name):
    kind, program = ERRORS[name]
    with pytest.raises(kind):
        program(shunt.func, data(shunt, 3))
    torch = pytest.importorskip("torch")
    with pytest.raises(kind):
        program(torch.func, data(torch, 3))


def test_random_numbers_follow_the_randomness():
    x = data(shunt, 4, 3)
    with pytest.raises(RuntimeError, match="random"):
        vmap(lambda x: x + shunt.rand(3))(x)
    same = vmap(lambda x: shunt.rand(3) + x * 0, randomness="same")(x)
    assert same[0].tolist() == same[3].tolist()
    different = vmap(lambda x: shunt.rand(3) + x * 0, randomness="different")(x)
    assert different[0].tolist() != different[3].tolist()


def test_what_escapes_a_transform_is_dead():
    kept = []
    vmap(lambda x: (kept.append(x), x)[1])(data(shunt, 3))
    with pytest.raises(RuntimeError):
        kept[0] + 1


def test_an_error_leaves_no_level_behind():
    def fails(x):
        raise KeyError("mine")
    for transform in (vmap(fails), grad(fails), jacrev(fails), lambda x: vjp(fails, x), vmap(grad(fails))):
        with pytest.raises(KeyError, match="mine"):
            transform(data(shunt, 3))
        assert (data(shunt, 3) + 1).shape == (3,)
    assert shunt._C._is_plain_thread()


def test_gradients_outside_go_on():
    w = data(shunt, 3).requires_grad_()
    grad(lambda x: (x * w).square().sum())(data(shunt, 3)).sum().backward()
    assert w.grad is not None
    w.grad = None
    vmap(lambda x: (x * w).sum())(data(shunt, 4, 3)).sum().backward()
    assert is_close(w.grad.tolist(), data(shunt, 4, 3).sum(0).tolist())


def test_no_grad_outside_does_not_reach_a_transform():
    with shunt.no_grad():
        g = grad(lambda x: x.square().sum())(data(shunt, 3))
    assert is_close(g.tolist(), (data(shunt, 3) * 2).tolist())


def test_transforms_keep_a_functions_name():
    def my_loss(x):
        """Of x."""
        return x.sum()
    for transform in (grad, vmap, jacrev, hessian, jacfwd, grad_and_value):
        assert transform(my_loss).__name__ == "my_loss" and transform(my_loss).__doc__ == "Of x."


def test_linearized_functions_may_be_called_often():
    out, forward = linearize(lambda x: {"y": x.sin()}, data(shunt, 3))
    assert is_close(forward(data(shunt, 3))["y"].tolist(), forward(data(shunt, 3))["y"].tolist())
    assert is_close(out["y"].tolist(), data(shunt, 3).sin().tolist())
    with pytest.raises(RuntimeError):
        forward((data(shunt, 3),))


class Linear:
    """What functional_call() asks of a module."""

    def __init__(self, weight, bias=None, child=None):
        self._parameters = {"weight": weight, "bias": bias}
        self._buffers = {"scale": shunt.ones([])}
        self._modules = {} if child is None else {"child": child}

    def __call__(self, x, shift=0.0):
        y = x @ self._parameters["weight"] * self._buffers["scale"] + shift
        return y if not self._modules else self._modules["child"](y)

    def named_parameters(self, prefix=""):
        for name, value in self._parameters.items():
            if value is not None:
                yield prefix + name, value
        for name, child in self._modules.items():
            yield from child.named_parameters(f"{prefix}{name}.")

    def named_buffers(self, prefix=""):
        yield prefix + "scale", self._buffers["scale"]


def test_functional_call_puts_back_what_it_replaced():
    weight = data(shunt, 3, 3)
    module = Linear(weight, child=Linear(data(shunt, 3, 2)))
    x, other = data(shunt, 4, 3), data(shunt, 3, 3, shift=1.0)
    got = functional_call(module, {"weight": other, "child.scale": shunt.full([], 2.0)}, (x,), {"shift": 1.0})
    want = ((x @ other + 1.0) @ module._modules["child"]._parameters["weight"]) * 2.0
    assert is_close(got.tolist(), want.tolist()) and module._parameters["weight"] is weight
    with pytest.raises(AttributeError):
        functional_call(module, {"nothing": other}, x)
    with pytest.raises(ValueError, match="multiple dictionaries"):
        functional_call(module, [{"weight": other}, {"weight": other}], x)
    with pytest.raises(RuntimeError, match="missing"):
        functional_call(module, {"weight": other}, x, strict=True)
    assert module._parameters["weight"] is weight


def test_tied_weights_are_replaced_together():
    shared = data(shunt, 3, 3)
    module = Linear(shared, child=Linear(shared))
    x, other = data(shunt, 4, 3), data(shunt, 3, 3, shift=1.0)
    assert is_close(functional_call(module, {"weight": other}, x).tolist(), (x @ other @ other).tolist())
    assert is_close(functional_call(module, {"weight": other}, x, tie_weights=False).tolist(),
                    (x @ other @ shared).tolist())
    with pytest.raises(ValueError, match="tied"):
        functional_call(module, {"weight": other, "child.weight": other + 1}, x)


def test_an_ensemble_runs_as_a_batch():
    models = [Linear(data(shunt, 3, 2, shift=float(i))) for i in range(4)]
    parameters, buffers = stack_module_state(models)
    assert parameters["weight"].shape == (4, 3, 2)
    x = data(shunt, 5, 3)
    got = vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(parameters, buffers)
    assert is_close(got.tolist(), [m(x).tolist() for m in models])


def test_results_may_be_containers_of_any_registered_class():
    class Box:
        def __init__(self, value):
            self.value = value
    pytree.register_pytree_node(Box, lambda b: ([b.value], None), lambda c, _: Box(c[0]))
    try:
        assert vmap(lambda x: Box(x * 2))(data(shunt, 3)).value.shape == (3,)
        assert jvp(lambda x: Box(x * 2), (data(shunt, 3),), (data(shunt, 3),))[1].value.shape == (3,)
    finally:
        pytree._deregister_pytree_node(Box)
    assert jacfwd(lambda x: x.sum())(data(shunt, 3)).shape == (3,)
