"""Elements taken and put by index, that are made of others."""

from shunt import _C
from shunt._autocast import by_policy
from shunt._composites._common import into, method, wrapped

Tensor = _C.TensorBase


def _check_index(name, index):
    if index.dtype is not _C.int64:
        raise RuntimeError(f"{name}(): expected index of dtype int64, got {index.dtype}")
    if index.dim() > 1:
        raise IndexError(f"{name}(): expected index with 0 or 1 dimensions, got {index.dim()}")


def _place(dim, index):
    return (slice(None),) * dim + (index.reshape((-1,)),)


@method
def index_fill_(input, dim, index, value):
    """The in-place form of index_fill()."""
    if isinstance(value, Tensor):
        if value.dim() != 0:
            raise RuntimeError(
                f"index_fill_(): expected value to be a number or a tensor of no dimensions, got {value.dim()} "
                "dimensions"
            )
    _check_index("index_fill_", index)
    d = wrapped(dim, input.dim())
    if input.dim() == 0:
        size = 1
        if index.numel() and not bool(((index >= -size) & (index < size)).all()):
            raise IndexError(f"index_fill_(): expected indices from {-size} to {size - 1}, got {index.tolist()}")
        return input.fill_(value) if index.numel() else input
    if index.numel():
        input[_place(d, index)] = value
    return input


@method
def index_fill(input, dim, index, value):
    """The tensor with `value`, a number or a tensor of none, at places along a dimension."""
    return index_fill_(input.clone(), dim, index, value)


@method
def index_copy_(input, dim, index, source):
    """The in-place form of index_copy()."""
    _check_index("index_copy_", index)
    d = wrapped(dim, input.dim())
    if source.dtype is not input.dtype:
        raise RuntimeError(f"index_copy_(): expected source of dtype {input.dtype}, as self is, got {source.dtype}")
    if source.dim() and input.dim() and source.dim() != input.dim():
        raise IndexError(
            f"index_copy_(): expected source with {input.dim()} dimensions, as self has, got {source.dim()}"
        )
    count = source.size(d) if source.dim() else 1
    if index.numel() != count:
        raise IndexError(
            f"index_copy_(): expected an index for each of the {count} slices of source, got {index.numel()}"
        )
    if input.dim() == 0:
        return input.copy_(source.reshape(())) if index.numel() else input
    if index.numel() and (int(index.min()) < 0 or int(index.max()) >= input.size(d)):
        raise IndexError(
            f"index_copy_(): expected indices from 0 to {input.size(d) - 1}, got {int(index.min())} to "
            f"{int(index.max())}"
        )
    if source.dim() == 0:
        source = source.reshape((1,) * input.dim())
    if source.shape[:d] != input.shape[:d] or source.shape[d + 1 :] != input.shape[d + 1 :]:
        raise RuntimeError(
            f"index_copy_(): expected source with the sizes of self, {list(input.shape)}, but in dimension {d}, got "
            f"{list(source.shape)}"
        )
    if index.numel():
        input[_place(d, index)] = source
    return input


@method
@by_policy("index_copy")
def index_copy(input, dim, index, source, *, out=None):
    """The tensor with slices of `source` at places along a dimension."""
    return into(out, index_copy_(input.clone(), dim, index, source))


@method
def take(input, index, *, out=None):
    """The elements at places counted row by row, from the end where they are negative; of the index's shape."""
    if index.dtype is not _C.int64:
        raise RuntimeError(f"take(): expected index of dtype int64, got {index.dtype}")
    if input.numel() == 0 and index.numel():
        raise IndexError(f"take(): expected no indices, as input is empty, got {index.numel()}")
    flat = input.reshape((-1,))
    return into(out, flat[index.reshape((-1,))].reshape(index.shape))


@method
def put_(input, index, source, accumulate=False):
    """The in-place form of put()."""
    if index.dtype is not _C.int64:
        raise RuntimeError(f"put_(): expected index of dtype int64, got {index.dtype}")
    if input.dtype is not source.dtype:
        raise RuntimeError(f"put_(): expected source of dtype {input.dtype}, as self is, got {source.dtype}")
    if index.numel() != source.numel():
        raise RuntimeError(
            f"put_(): expected source with an element for each of the {index.numel()} indices, got {source.numel()}"
        )
    if index.numel() == 0:
        return input
    if input.numel() == 0:
        raise IndexError(f"put_(): expected no indices, as self is empty, got {index.numel()}")
    flat = input.reshape((-1,)).index_put((index.reshape((-1,)),), source.reshape((-1,)), accumulate)
    return input.copy_(flat.reshape(input.shape))


@method
def put(input, index, source, accumulate=False):
    """The tensor with the elements of `source` at places counted row by row; with `accumulate` added there."""
    return put_(input.clone(), index, source, accumulate)


@method
def masked_scatter_(input, mask, source):
    """The in-place form of masked_scatter()."""
    if mask.dtype is not _C.bool:
        raise RuntimeError(f"masked_scatter_(): expected mask of dtype bool, got {mask.dtype}")
    if input.dtype is not source.dtype:
        raise RuntimeError(f"masked_scatter_(): expected source of dtype {input.dtype}, as self is, got {source.dtype}")
    mask = mask.expand(input.shape)
    count = int(mask.sum())
    if count > source.numel():
        raise RuntimeError(
            "masked_scatter: expected number of elements in source to be at least the number of ones in mask, but got "
            f"{source.numel()} and {count}"
        )
    if input.dim() == 0:
        return input.copy_(source.reshape((-1,))[0]) if count else input
    return input.index_put_((mask,), source.reshape((-1,))[:count])


@method
def masked_scatter(input, mask, source):
    """The tensor with the elements of `source`, in their order, where the mask is True."""
    from shunt._composites._common import broadcast_shapes

    shape = broadcast_shapes(input.shape, mask.shape)
    return masked_scatter_(input.expand(shape).clone(memory_format=_C.contiguous_format), mask, source)
