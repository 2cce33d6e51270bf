"""Rows of a table by their indices."""

from shunt.nn.functional._common import ops


def _row(name, padding_idx, weight, error=AssertionError):
    """The index of a row, which may count from the end, from the front. `error` where there is no such row."""
    rows = weight.size(0)
    if padding_idx and padding_idx not in range(-rows, rows):
        raise error(f"{name}(): padding_idx has to be one of weight's {rows} rows, got {padding_idx}")
    return padding_idx + rows if padding_idx < 0 else padding_idx


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of `weight` with the indices `input`. Shapes: (*) of int64 or int32, (rows, features) to (*, features).

    Args:
        padding_idx: a row that gets no gradient.
        max_norm: rows of a larger norm, of those that are looked up, are scaled down to it, in place.
        scale_grad_by_freq: whether a row's gradient is divided by how often it is looked up.
        sparse: asks for a sparse gradient, which is an error where one is recorded.
    """
    padding_idx = -1 if padding_idx is None else _row("embedding", padding_idx, weight)
    if max_norm is not None:
        _renormalise(weight, input, max_norm, norm_type)
    if sparse:
        from shunt import is_grad_enabled

        # Where no gradient is recorded none is sparse.
        sparse = weight.requires_grad and is_grad_enabled()
    return ops.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _bags(input, offsets, include_last_offset):
    """The indices bag by bag, a matrix, and which of its elements count: bags are filled up to the longest."""
    from shunt import _C, tensor

    starts = offsets.tolist()
    if not include_last_offset:
        starts = [*starts, input.size(0)]
    if starts[0] != 0:
        raise RuntimeError(f"offsets[0] has to be 0: the first bag begins with the input. However, got {starts[0]}")
    lengths = [end - start for start, end in zip(starts, starts[1:])]
    if starts[-1] > input.size(0) or any(n < 0 for n in lengths):
        raise RuntimeError(f"offsets must grow and end within input's length {input.size(0)}, but got {starts}")
    longest = max(lengths, default=0)
    places = [[start + k if k < n else 0 for k in range(longest)] for start, n in zip(starts, lengths)]
    counts = [[k < n for k in range(longest)] for n in lengths]
    shape = (len(lengths), longest)
    device = input.device
    return (
        tensor(places, dtype=_C.int64, device=device).reshape(shape),
        tensor(counts, dtype=_C.bool, device=device).reshape(shape),
    )


def _check_bags(input, offsets, mode, per_sample_weights, scale_grad_by_freq):
    """ValueError, NotImplementedError or RuntimeError for arguments of embedding_bag() that don't go together."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag(): expected mode 'sum', 'mean' or 'max', got {mode!r}")
    weighted = per_sample_weights is not None
    if weighted and mode != "sum":
        raise NotImplementedError(f"embedding_bag(): per_sample_weights need mode 'sum', got {mode!r}")
    if weighted and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag(): expected per_sample_weights of input's shape {tuple(input.shape)}, got "
            f"{tuple(per_sample_weights.shape)}"
        )
    if scale_grad_by_freq and mode == "max":
        raise RuntimeError("embedding_bag(): scale_grad_by_freq goes with the modes 'sum' and 'mean', not with 'max'")
    if input.dim() not in (1, 2):
        raise ValueError(f"embedding_bag(): expected an input of 1 or 2 dimensions, got {input.dim()}")
    if input.dim() == 2 and offsets is not None:
        raise ValueError("embedding_bag(): each row of a matrix is a bag: expected no offsets, got some")
    if input.dim() == 1 and (offsets is None or offsets.dim() != 1):
        found = "none" if offsets is None else f"{offsets.dim()} dimensions"
        raise ValueError(f"embedding_bag(): expected a vector of offsets, where the input's bags begin, got {found}")


def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """The sum, mean or largest ("sum", "mean", "max") of rows of `weight`, bag by bag. Shapes: (B, N) of int64 or
    int32, or (N) with offsets (B), where bags begin, and (rows, features), to (B, features).

    Args:
        max_norm: rows of a larger norm, of those that are looked up, are scaled down to it, in place.
        scale_grad_by_freq: whether a row's gradient is divided by how often it is looked up; not with "max".
        sparse: asks for a sparse gradient, which is an error where one is recorded.
        per_sample_weights: what rows are multiplied by before they are summed; of the input's shape.
        include_last_offset: whether the last offset is the end of the last bag.
        padding_idx: a row that doesn't count and gets no gradient.
    """
    _check_bags(input, offsets, mode, per_sample_weights, scale_grad_by_freq)
    rows = embedding(input, weight, None, max_norm, norm_type, scale_grad_by_freq, sparse)
    index, weights, counts = input, per_sample_weights, None
    if input.dim() == 1:
        places, counts = _bags(input, offsets, include_last_offset)
        index, rows = input[places], rows[places]
        weights = None if per_sample_weights is None else per_sample_weights[places]
    if padding_idx is not None:
        real = index != _row("embedding_bag", padding_idx, weight, RuntimeError)
        counts = real if counts is None else counts & real
    if weights is not None:
        rows = rows * weights.unsqueeze(-1)
    if mode == "max":
        if index.size(1) == 0:
            return rows.sum(1)
        if counts is None:
            return rows.max(1)[0]
        largest = ops.masked_fill(rows, counts.logical_not().unsqueeze(-1), -float("inf")).max(1)[0]
        return ops.where(counts.any(1).unsqueeze(-1), largest, ops.zeros_like(largest))
    if counts is None:
        return rows.mean(1) if mode == "mean" and index.size(1) else rows.sum(1)
    # Not a product with zeros: rows that don't count may have infinite elements.
    total = ops.where(counts.unsqueeze(-1), rows, ops.zeros_like(rows)).sum(1)
    return total / counts.sum(1, True).clamp_min(1).to(total.dtype) if mode == "mean" else total


def _renormalise(weight, indices, max_norm, norm_type):
    from shunt import no_grad, tensor

    with no_grad():
        used = tensor(sorted(set(indices.reshape((-1,)).tolist())), device=indices.device)
        rows = weight.index_select(0, used)
        norms = ops.norm(rows, norm_type, 1, True)
        scale = ops.where(norms > max_norm, max_norm / (norms + 1e-7), ops.ones_like(norms))
        weight.index_put_((used,), rows * scale)


def one_hot(tensor, num_classes=-1):
    """1 at the index that each element is, of `num_classes`, 0 elsewhere. Shape (*) of int64 to (*, num_classes) of
    int64.

    By default there are as many classes as the largest index needs.
    """
    return ops.one_hot(tensor, num_classes)
