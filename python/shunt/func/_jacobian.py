"""Jacobians, second derivatives and derivatives along a direction, made of vjp and vmap."""

import functools

from shunt._tensor import Tensor
from shunt.func._grad import positions, vjp, vjp_with
from shunt.func._vmap import vmap
from shunt.utils._pytree import tree_flatten, tree_map, tree_unflatten


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """What func(*primals) returns, and its derivative along `tangents`, structured so.

    By two passes back: the pullback of `func` is linear in the cotangent, and its own pullback is the derivative asked
    for.

    Args:
        primals, tangents: tuples of containers of floating tensors, of one structure and the same shapes.
        has_aux: `func` returns a pair, whose second part is the third result.
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise RuntimeError(f"jvp: {name}: expected a tuple, an element for each argument, got "
                               f"{type(given).__name__}")
    flat, spec = tree_flatten(primals)
    along, its_spec = tree_flatten(tangents)
    if spec != its_spec:
        raise RuntimeError(f"jvp: tangents: expected the structure of the primals, {spec}, got {its_spec}")
    if not flat:
        raise RuntimeError("jvp: primals: expected a tensor at least, got none")
    for x, t in zip(flat, along):
        if not (isinstance(x, Tensor) and isinstance(t, Tensor)):
            raise RuntimeError(f"jvp: expected tensors alone, got {type(x).__name__} and {type(t).__name__}")
        if x.shape != t.shape:
            raise RuntimeError(f"jvp: a tangent has shape {list(t.shape)}: expected its primal's, {list(x.shape)}")
    result = vjp(func, *primals, has_aux=has_aux)
    derivative = _forward(*result[:2])(*tangents)
    return (result[0], derivative, result[2]) if has_aux else (result[0], derivative)


def _forward(output, pullback):
    """The function of tangents that belongs to a pullback."""
    outputs, spec = tree_flatten(output)

    def of_cotangents(*cotangents):
        return pullback(tree_unflatten(list(cotangents), spec))

    def forward(*tangents):
        start = [x.detach().new_zeros(x.shape) for x in outputs]
        _, transposed = vjp(of_cotangents, *start)
        return tree_unflatten(list(transposed(tuple(tangents))), spec)

    return forward


def linearize(func, *primals):
    """What func(*primals) returns, and a function of tangents, structured as the primals, that gives the result's
    derivative along these. `func` runs once."""
    output, pullback = vjp(func, *primals)
    forward = _forward(output, pullback)
    specs = [tree_flatten(p)[1] for p in primals]

    def jvp_fn(*tangents):
        if [tree_flatten(t)[1] for t in tangents] != specs:
            raise RuntimeError("linearize: expected tangents of the structure of the primals")
        return forward(*tangents)

    return output, jvp_fn


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian of `func`, computed from its results back: a row for each of their elements.

    Args:
        argnums: by which positional arguments; for a tuple of ints there is a tuple of Jacobians.
        has_aux: `func` returns a pair, whose second part comes as the second result.
        chunk_size: at most so many rows at once.
    For a result of shape R and an argument of shape A it has shape [*R, *A]; containers are nested, results outside.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"jacrev: chunk_size: expected None or a positive int, got {chunk_size}")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        numbers = positions(argnums, len(args))
        result = vjp_with(lambda *a: func(*a, **kwargs), numbers, args, has_aux)
        outputs, spec = tree_flatten(result[0])
        inputs = [tree_flatten(args[a]) for a in numbers]
        rows = _rows(result[1], outputs, spec, chunk_size)
        jacobians = [_shaped(rows, output, n, [x for leaves, _ in inputs for x in leaves]) for n,
                     output in enumerate(outputs)]
        # Results outside, arguments inside.
        nested = []
        for leaves in jacobians:
            found, at = [], 0
            for parts, its_spec in inputs:
                found.append(tree_unflatten(leaves[at:at + len(parts)], its_spec))
                at += len(parts)
            nested.append(tuple(found) if isinstance(argnums, tuple) else found[0])
        jacobian = tree_unflatten(nested, spec)
        return (jacobian, result[2]) if has_aux else jacobian

    return wrapper


def _rows(pullback, outputs, spec, chunk_size):
    """For each result its number of elements of cotangents, one after the other, pulled back: flat lists by
    argument."""
    found = []
    for n, output in enumerate(outputs):
        basis = _basis(output)

        def one(cotangent, n=n):
            flat = [cotangent if i == n else x.detach().new_zeros(x.shape) for i, x in enumerate(outputs)]
            return tree_flatten(pullback(tree_unflatten(flat, spec)))[0]

        found.append(vmap(one, chunk_size=chunk_size)(basis))
    return found


def _basis(x):
    """[n, shape]: all cotangents of a tensor with a single 1."""
    from shunt import eye
    n = x.numel()
    return eye(n, dtype=x.dtype, device=x.device).reshape([n, *x.shape])


def _shaped(rows, output, n, inputs):
    return [rows[n][i].reshape([*output.shape, *x.shape]) for i, x in enumerate(inputs)]


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that returns the Jacobian of `func`, as jacrev does, computed a column for each element of the
    arguments."""
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        numbers = positions(argnums, len(args))
        result = vjp_with(lambda *a: func(*a, **kwargs), numbers, args, has_aux)
        outputs, spec = tree_flatten(result[0])
        forward = _forward(*result[:2])
        columns = []  # by leaf of the arguments, then by result
        for k, a in enumerate(numbers):
            leaves, its_spec = tree_flatten(args[a])
            for i, leaf in enumerate(leaves):
                columns.append(_columns(forward, args, numbers, k, i, leaf, its_spec, randomness))
        nested = []
        for n, output in enumerate(outputs):
            found, at = [], 0
            for a in numbers:
                leaves, its_spec = tree_flatten(args[a])
                parts = [columns[at + i][n].reshape([*output.shape, *x.shape]) for i, x in enumerate(leaves)]
                at += len(leaves)
                found.append(tree_unflatten(parts, its_spec))
            nested.append(tuple(found) if isinstance(argnums, tuple) else found[0])
        jacobian = tree_unflatten(nested, spec)
        return (jacobian, result[2]) if has_aux else jacobian

    return wrapper


def _columns(forward, args, numbers, k, i, leaf, spec, randomness):
    """The derivatives of all results along each element of one leaf, in their last dimension."""
    zeros = [tree_map(lambda x: x.detach().new_zeros(x.shape), args[a]) for a in numbers]
    others = tree_flatten(zeros[k])[0]

    def one(direction):
        tangents = list(zeros)
        tangents[k] = tree_unflatten([direction if j == i else x for j, x in enumerate(others)], spec)
        return tree_flatten(forward(*tangents))[0]

    return vmap(one, out_dims=-1, randomness=randomness)(_basis(leaf))


def hessian(func, argnums=0):
    """A function that returns the second derivatives of `func`, jacrev of jacrev: for a result of shape R and an
    argument of shape A of shape [*R, *A, *A]."""
    return jacrev(jacrev(func, argnums), argnums)
