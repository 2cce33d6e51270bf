"""Elements around a tensor: a constant, or the tensor's."""

from shunt._autocast import by_policy
from shunt.nn.functional._common import ops


def constant_pad_nd(input, pad, value=0):
    """Elements of `value` around the input: `pad` has how many before and after it, the last dimension first; fewer
    than none cut."""
    if len(pad) % 2:
        raise RuntimeError(
            f"constant_pad_nd(): expected an even count of numbers in pad, two for a dimension, got {len(pad)}"
        )
    if len(pad) // 2 > input.dim():
        raise RuntimeError(
            f"constant_pad_nd(): expected at most {2 * input.dim()} numbers in pad, two for a dimension, got {len(pad)}"
        )
    sizes, inner, places = list(input.shape), input, [slice(None)] * input.dim()
    for k in range(len(pad) // 2):
        d = input.dim() - 1 - k
        before, after = pad[2 * k], pad[2 * k + 1]
        sizes[d] += before + after
        if sizes[d] < 0:
            raise RuntimeError(
                f"constant_pad_nd(): expected pad to cut at most the {input.size(d)} elements of dimension {d}, got "
                f"({before}, {after})"
            )
        if before < 0:
            inner = inner.narrow(d, -before, inner.size(d) + before)
        if after < 0:
            inner = inner.narrow(d, 0, inner.size(d) + after)
        places[d] = slice(max(before, 0), sizes[d] - max(after, 0))
    result = ops.full(sizes, value, dtype=input.dtype, device=input.device)
    if all(p <= 0 for p in pad):
        return inner.clone()
    result[tuple(places)] = inner
    return result


def _index_of(mode, size, before, after):
    """Which of `size` elements stand at the places -before ... size + after - 1."""
    if mode == "circular":
        # What is cut off is not repeated at the other end.
        kept = range(max(-before, 0), size - max(-after, 0))
        return [kept[i % len(kept)] for i in range(-max(before, 0), len(kept) + max(after, 0))]
    span = range(-before, size + after)
    if mode == "replicate":
        return [min(max(i, 0), size - 1) for i in span]
    return [-i if i < 0 else 2 * (size - 1) - i if i >= size else i for i in span]


def pad(input, pad, mode="constant", value=None):
    """Elements around the input: of `value` ("constant"), mirrored ("reflect"), the border's ("replicate"), or from
    the other end
    ("circular").

    Args:
        pad: how many before and after it, the last dimension first. Modes other than constant pad the last dimensions
        of inputs with one
            or two dimensions before these.
    """
    pad = tuple(pad)
    if len(pad) % 2:
        raise RuntimeError(f"pad(): expected an even count of numbers in pad, two for a dimension, got {len(pad)}")
    if len(pad) // 2 > input.dim():
        raise RuntimeError(
            f"pad(): expected at most {2 * input.dim()} numbers in pad, two for a dimension, got {len(pad)}"
        )
    if mode == "constant":
        return constant_pad_nd(input, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise ValueError(f"pad(): mode={mode!r} expects no value, got {value}")
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(
            f"pad(): expected mode to be 'constant', 'reflect', 'replicate' or 'circular', got {mode!r}"
        )
    dims = len(pad) // 2
    if input.dim() not in (dims + 1, dims + 2) or dims > 3 or (mode == "circular" and input.dim() < dims + 1):
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    if mode == "replicate":
        return _replicated(input, pad, mode)
    # reflection_pad3d has no policy in PyTorch.
    return (_mirrored if mode == "reflect" and dims < 3 else _surrounded)(input, pad, mode)


def _surrounded(input, pad, mode):
    """Pads by a mode that repeats elements of the input."""
    from shunt import int64, tensor

    dims, result = len(pad) // 2, input
    left = [input.size(-1 - k) + pad[2 * k] + pad[2 * k + 1] for k in range(dims)]
    for k in range(dims):
        d = input.dim() - 1 - k
        before, after = pad[2 * k], pad[2 * k + 1]
        size = input.size(d)
        if size == 0:
            raise RuntimeError(f"pad(): expected input with no size of 0 but the batch's, got {list(input.shape)}")
        if mode == "reflect" and (before >= size or after >= size):
            raise RuntimeError(
                f"pad(): mode='reflect' expects less padding than the {size} elements of dimension {d}, got ({before}, "
                f"{after})"
            )
        if mode == "circular" and (before > size or after > size):
            raise RuntimeError(
                f"pad(): mode='circular' expects at most as much padding as the {size} elements of dimension {d}, got "
                f"({before}, {after})"
            )
        if size + before + after < 0 or not any(left):
            raise RuntimeError(
                f"input (size {size}) is too small: padding ({before}, {after}) leaves nothing of dimension {d}"
            )
        if before or after:
            places = tensor(_index_of(mode, size, before, after), dtype=int64, device=result.device)
            result = result.index_select(d, places)
    return result.clone() if result is input else result


_mirrored = by_policy("reflection_pad")(_surrounded)
_replicated = by_policy("replication_pad")(_surrounded)
