"""Elements around a tensor: a constant, or the tensor's."""

from shunt.nn.functional._common import ops


def constant_pad_nd(input, pad, value=0):
    """Elements of `value` around the input: `pad` has how many before and after it, the last dimension first; fewer
    than none cut."""
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) // 2 > input.dim():
        raise RuntimeError(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)} "
            f"while the input has {input.dim()} dimensions."
        )
    sizes, inner, places = list(input.shape), input, [slice(None)] * input.dim()
    for k in range(len(pad) // 2):
        d = input.dim() - 1 - k
        before, after = pad[2 * k], pad[2 * k + 1]
        sizes[d] += before + after
        if sizes[d] < 0:
            raise RuntimeError(
                f"The input size {input.size(d)}, plus negative padding {before} and {after} resulted in a negative "
                f"output "
                f"size, which is invalid. Check dimension {d} of your input."
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
    from shunt import int64, tensor

    pad = tuple(pad)
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > input.dim():
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.dim()}"
        )
    if mode == "constant":
        return constant_pad_nd(input, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    dims = len(pad) // 2
    if input.dim() not in (dims + 1, dims + 2) or dims > 3 or (mode == "circular" and input.dim() < dims + 1):
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    result = input
    left = [input.size(-1 - k) + pad[2 * k] + pad[2 * k + 1] for k in range(dims)]
    for k in range(dims):
        d = input.dim() - 1 - k
        before, after = pad[2 * k], pad[2 * k + 1]
        size = input.size(d)
        if size == 0:
            raise RuntimeError(
                f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and other "
                f"non-zero "
                f"dimensions for input, but got: {list(input.shape)}"
            )
        if mode == "reflect" and (before >= size or after >= size):
            raise RuntimeError(
                "Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at dimension {d} of input {list(input.shape)}"
            )
        if mode == "circular" and (before > size or after > size):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if size + before + after < 0 or not any(left):
            raise RuntimeError(
                f"input (size {size}) is too small: padding ({before}, {after}) leaves nothing of dimension {d}"
            )
        if before or after:
            places = tensor(_index_of(mode, size, before, after), dtype=int64, device=result.device)
            result = result.index_select(d, places)
    return result.clone() if result is input else result
