"""What a batching rule is given, and how its answer is read."""

from collections import namedtuple

from shunt.utils._pytree import _broadcast_to_and_flatten, tree_flatten

VmapInfo = namedtuple("VmapInfo", ["batch_size", "randomness"])
VmapInfo.__doc__ = "The innermost vmap: how many samples it has, and what random operators do in it."

_RANDOMNESS = ("error", "same", "different")


def call_rule(func, op, batch_size, randomness, in_dims, args, kwargs):
    """Calls a rule. Returns its result, and a list of the dimensions of all tensors in it."""
    for argument, dims in zip(op._schema.arguments, in_dims):
        if argument.kwarg_only and any(dim is not None for dim in (dims if isinstance(dims, list) else [dims])):
            raise RuntimeError(
                f"register_vmap: {op}: its keyword-only argument '{argument.name}' is batched, and a rule gets the "
                "dimensions of positional arguments alone: expected the tensor as a positional argument in the schema"
            )
    answer = func(VmapInfo(batch_size, _RANDOMNESS[randomness]), in_dims[:len(args)], *args, **kwargs)
    if not isinstance(answer, tuple) or len(answer) != 2:
        got = f"a tuple of {len(answer)}" if isinstance(answer, tuple) else type(answer).__name__
        raise RuntimeError(f"register_vmap: the rule of {op}: expected it to return (result, out_dims), got {got}")
    result, out_dims = answer
    spec = tree_flatten(result)[1]
    flat = _broadcast_to_and_flatten(out_dims, spec)
    if flat is None or not all(dim is None or isinstance(dim, int) for dim in flat):
        raise RuntimeError(
            f"register_vmap: the rule of {op}: expected out_dims of ints and None, structured as the result, {spec}, "
            f"got {out_dims!r}"
        )
    return result, flat
