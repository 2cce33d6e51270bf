"""vmap: a function of one sample, run for a batch of them at once."""

import functools

from shunt import _C
from shunt._tensor import Tensor
from shunt.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

_RANDOMNESS = {"error": 0, "same": 1, "different": 2}


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that runs `func` for a batch of samples, each operator once for all of them.

    Args:
        func: takes tensors, and nested containers of them; returns tensors, or containers of them.
        in_dims: which dimension of the positional arguments is the batch: an int for all, or a nested tuple that is
            structured as the arguments, with None for what all samples share. Keyword arguments are shared.
        out_dims: where results have the batch: an int for all, or structured as the result. None: a result without
            batch, which needn't be a tensor.
        randomness: what operators that draw random numbers do: "error", "same" for all samples, or "different".
        chunk_size: at most so many samples at once; None: all.
    Raises ValueError for dimensions that don't fit, and where `func` returns what isn't a tensor; RuntimeError for what
    can't be done for a batch: item(), control flow on values, random numbers in mode "error".
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(f"vmap: randomness: expected 'error', 'same' or 'different', got {randomness!r}")
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size <= 0):
        raise ValueError(f"vmap: chunk_size: expected None or a positive int, got {chunk_size!r}")

    @functools.wraps(func)
    def vmapped(*args, **kwargs):
        return _run(func, in_dims, out_dims, _RANDOMNESS[randomness], chunk_size or 0, args, kwargs)

    return vmapped


def _name_of(func):
    return getattr(func, "__name__", None) or repr(func)


def _run(func, in_dims, out_dims, randomness, chunk_size, args, kwargs):
    leaves, spec = tree_flatten(args)
    dims = _in_dims(func, in_dims, leaves, spec)
    batched = [i for i, dim in enumerate(dims) if dim is not None]
    call = _C._VmapCall(tuple(dims[i] for i in batched), (0,), randomness, chunk_size)
    _check_sizes([leaves[i].size(dims[i]) for i in batched])
    for n, i in enumerate(batched):
        call.measure(n, leaves[i])
    parts, result_spec, places, names = [], None, None, _name_of(func)
    for chunk in range(call.chunks()):
        call.enter(chunk)
        try:
            inside = list(leaves)
            for n, i in enumerate(batched):
                inside[i] = call.wrap(n, leaves[i])
            result = func(*tree_unflatten(inside, spec), **kwargs)
            del inside
        finally:
            call.leave()
        flat, this_spec = tree_flatten(result)
        del result
        if result_spec is None:
            result_spec, places = this_spec, _out_dims(names, out_dims, this_spec)
        elif this_spec != result_spec:
            raise ValueError(f"vmap({names}): the result has structure {result_spec} for the first samples, and "
                             f"{this_spec} for others")
        _check_results(names, flat, places)
        parts.append(_values(call, flat, places))
    if len(parts) > 1:
        joined = [_join(call, [p[i] for p in parts], place) for i, place in enumerate(places)]
    else:
        joined = parts[0]
    return tree_unflatten(joined, result_spec)


def _values(call, flat, places):
    """What the results are outside. Each tensor is unwrapped once, as that ends it, however often it was returned."""
    values = {}
    for x, place in zip(flat, places):
        if place is not None and id(x) not in values:
            values[id(x)] = call.unwrap(x, 0, 1)
    return [x if place is None else _moved(values[id(x)], place) for x, place in zip(flat, places)]


def _moved(value, place):
    """A result whose batch is the first dimension, with the batch at `place`."""
    n = value.dim()
    if not -n <= place < n:
        raise IndexError(f"vmap: out_dims: expected a dimension in [{-n}, {n - 1}], got {place}")
    place %= n
    return value if place == 0 else value.permute([*range(1, place + 1), 0, *range(place + 1, n)])


def _join(call, parts, place):
    from shunt import cat
    return parts[0] if place is None else cat(parts, place % parts[0].dim())


def _in_dims(func, in_dims, leaves, spec):
    """The dimension of each leaf of the arguments."""
    name = f"vmap of {_name_of(func)}: in_dims={in_dims}"
    if not isinstance(in_dims, (int, tuple)) or isinstance(in_dims, bool):
        raise ValueError(f"{name}: expected an int, or a tuple structured as the arguments, got "
                         f"{type(in_dims).__name__}")
    if not leaves:
        raise ValueError(f"vmap of {_name_of(func)}: it was called without positional arguments, so there is no batch")
    dims = _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(f"{name}: expected the structure of the arguments, {spec}, got {tree_flatten(in_dims)[1]}")
    for i, (leaf, dim) in enumerate(zip(leaves, dims)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(f"{name}: expected ints and None, got {dim!r}")
        if not isinstance(leaf, Tensor):
            raise ValueError(f"{name}: leaf {i} of the arguments is a {type(leaf).__name__}, which has no dimension "
                             f"{dim}: "
                             "expected None for it")
        if not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(f"{name}: leaf {i} of the arguments has {leaf.dim()} dimensions, and {dim} is none of "
                             f"them: expected "
                             f"one in [{-leaf.dim()}, {leaf.dim() - 1}]")
        dims[i] = dim % leaf.dim()
    if all(dim is None for dim in dims):
        raise ValueError(f"{name}: at least one input must have a batch: in_dims has None alone")
    return dims


def _check_sizes(sizes):
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: batches have to be of one size, got {sizes}")


def _out_dims(name, out_dims, spec):
    """Where each leaf of the result has the batch; None: nowhere."""
    def is_dim(x):
        return x is None or isinstance(x, int)

    if not all(map(is_dim, tree_flatten(out_dims)[0])):
        raise ValueError(f"vmap of {name}: out_dims: expected an int, None, or a container of these structured as the "
                         f"result, got "
                         f"{out_dims!r}")
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None and isinstance(out_dims, tuple) and len(out_dims) == 1 and spec.is_leaf():
        dims = list(out_dims)
    if dims is None:
        raise ValueError(f"vmap of {name}: out_dims={out_dims}: expected the structure of the result, {spec}, got "
                         f"{tree_flatten(out_dims)[1]}")
    return dims


def _check_results(name, flat, places):
    for x, place in zip(flat, places):
        if place is not None and not isinstance(x, Tensor):
            raise ValueError(f"vmap of {name}: it returned a {type(x).__name__} where out_dims has {place}: expected "
                             f"a Tensor, or "
                             "None in out_dims")
        if place is None and isinstance(x, Tensor) and _has_ended(x):
            raise ValueError(f"vmap of {name}: out_dims has None for a result that depends on the batch: expected an "
                             f"int")


def _has_ended(x):
    """Whether a tensor is of a level that is over: no operator takes it."""
    try:
        x.view_as(x)
    except RuntimeError:
        return True
    return False
