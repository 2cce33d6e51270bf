"""grad, grad_and_value and vjp: a function differentiated, from its result back."""

import functools

from shunt import _C
from shunt._tensor import Tensor
from shunt.utils._pytree import tree_flatten, tree_map, tree_unflatten


class Level:
    """The level in which a function is differentiated: enter by `with`."""

    def __init__(self, transform):
        self.transform = transform
        self.call = _C._GradCall(transform)

    def __enter__(self):
        self.call.enter()
        return self.call

    def __exit__(self, *error):
        self.call.leave()

    def wrap(self, argument, tree):
        """The argument with what the function gets in the place of its tensors. Inside."""
        return tree_map(lambda x: self._wrap_leaf(argument, x), tree)

    def _wrap_leaf(self, argument, x):
        if not isinstance(x, Tensor):
            raise ValueError(f"{self.transform}: argument {argument}: expected tensors to differentiate by, got "
                             f"{type(x).__name__}")
        if not x.is_floating_point():
            raise RuntimeError(f"{self.transform}: argument {argument}: expected a floating dtype, got {x.dtype}")
        return self.call.wrap(argument, x)

    def unwrap(self, tree):
        """Values in the place of the level's tensors. Outside."""
        return tree_map(lambda x: self.call.unwrap(x) if isinstance(x, Tensor) else x, tree)


def positions(argnums, count):
    """`argnums` as a list of positions. RuntimeError for those that don't fit."""
    if not isinstance(argnums, (int, tuple)) or isinstance(argnums,
                                                           tuple) and not all(isinstance(a, int) for a in argnums):
        raise RuntimeError(f"argnums: expected an int or a tuple of ints, got {argnums!r}")
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not numbers:
        raise RuntimeError("argnums: expected one argument at least, got an empty tuple")
    for a in numbers:
        if not -count <= a < count:
            raise RuntimeError(f"argnums: expected numbers in [{-count}, {count - 1}], as there are {count} "
                               f"positional arguments, "
                               f"got {a}")
    found = [a % count for a in numbers]
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums: expected each argument once, got {argnums}")
    return found


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns the gradient of `func` and its value, a pair.

    Args:
        func: returns a floating tensor without dimensions, or with has_aux a pair of that and anything.
        argnums: of which positional arguments; an int, or a tuple of ints, for which there is a tuple of gradients.
            Arguments may be containers of floating tensors; gradients are structured so.
        has_aux: the value is the pair that `func` returns.
    """
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        numbers = positions(argnums, len(args))
        level = Level("grad")
        with level as call:
            inside = list(args)
            for a in numbers:
                inside[a] = level.wrap(a, args[a])
            output = func(*inside, **kwargs)
            del inside
            output, aux = _split(output, has_aux, "grad")
            _check_scalar(output)
            grads = call.gradients([output], [], False)
        grads = iter(level.unwrap(list(grads)))
        found = [tree_map(lambda _: next(grads), args[a]) for a in numbers]
        value = level.unwrap(output)
        result = tuple(found) if isinstance(argnums, tuple) else found[0]
        return result, (value, level.unwrap(aux)) if has_aux else value

    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of `func`: see grad_and_value. With has_aux the pair of it and what else
    `func` returned."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return wrapper


def _split(output, has_aux, where):
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{where}: with has_aux the function has to return a pair, got {type(output).__name__}")
    return output


def _check_scalar(output):
    where = "grad: the function has to return a floating tensor without dimensions, got"
    if not isinstance(output, Tensor):
        raise RuntimeError(f"{where} {type(output).__name__}")
    if output.dim() != 0:
        raise RuntimeError(f"{where} one of shape {list(output.shape)}; reduce it, or use vjp or jacrev")
    if not output.is_floating_point():
        raise RuntimeError(f"{where} one of {output.dtype}")


def vjp(func, *primals, has_aux=False):
    """What func(*primals) returns, and a function of a gradient of that, which gives the gradients of the primals.

    Args:
        func: returns tensors, or containers of them; with has_aux a pair of these and anything.
        primals: containers of floating tensors.
    The function takes cotangents that are structured as the result and returns a tuple of gradients, one for each
    primal. It may be called often, also inside vmap. With has_aux there is a third result: what else func returned.
    """
    return vjp_with(func, range(len(primals)), primals, has_aux)


def vjp_with(func, numbers, args, has_aux=False):
    """vjp() for the arguments at some positions: the pullback gives a tuple of one gradient for each."""
    level = Level("vjp")
    with level:
        inside = list(args)
        for a in numbers:
            inside[a] = level.wrap(a, args[a])
        output = func(*inside)
        del inside
    output, aux = _split(output, has_aux, "vjp")
    outputs, spec = tree_flatten(output)
    for x in outputs:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"vjp: the function has to return tensors alone, got {type(x).__name__}")
    structures = [tree_flatten(args[a])[1] for a in numbers]

    def pullback(cotangents, retain_graph=True, create_graph=None):
        flat, its_spec = tree_flatten(cotangents)
        if its_spec != spec:
            raise RuntimeError(f"vjp: cotangents: expected the structure of the result, {spec}, got {its_spec}")
        for i, (c, x) in enumerate(zip(flat, outputs)):
            if not isinstance(c, Tensor):
                raise RuntimeError(f"vjp: cotangent {i}: expected a Tensor, got {type(c).__name__}")
            if c.shape != x.shape:
                raise RuntimeError(f"vjp: cotangent {i}: expected the result's shape {list(x.shape)}, got "
                                   f"{list(c.shape)}")
        with level as call:
            grads = call.gradients(outputs, flat, True)
        grads = iter(level.unwrap(list(grads)))
        found = tuple(tree_unflatten([next(grads) for _ in range(s.num_leaves)], s) for s in structures)
        return found

    value = level.unwrap(output)
    return (value, pullback, level.unwrap(aux)) if has_aux else (value, pullback)
