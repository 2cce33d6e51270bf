"""Tensors split into parts, and put together from combinations of elements."""

import itertools
from shunt import _C
from shunt._composites._common import indices, method, ops, wrapped
from shunt._composites.shapes import Tensor, _list, atleast_2d


@method
def tensor_split(input, indices_or_sections, dim=0):
    """Views of the parts before, between and after places along a dimension, or of so many parts of about one size.

    Args:
        indices_or_sections: an int, how many; or a tuple of ints, or a tensor of int64 on the CPU of no or one
        dimension.
    """
    if input.dim() == 0:
        raise RuntimeError("tensor_split(): expected input with 1 dimension or more, got 0")
    d = wrapped(dim, input.dim())
    if isinstance(indices_or_sections, Tensor):
        t = indices_or_sections
        if t.dtype is not _C.int64:
            raise RuntimeError(f"tensor_split(): expected indices_or_sections of dtype int64, got {t.dtype}")
        if t.dim() > 1:
            raise RuntimeError(f"tensor_split(): expected indices_or_sections with 0 or 1 dimensions, got {t.dim()}")
        indices_or_sections = t.tolist()
    size = input.size(d)
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count <= 0:
            raise RuntimeError(f"tensor_split(): expected one section or more, got {count}")
        large, least = size % count, size // count
        ends = list(itertools.accumulate([least + 1] * large + [least] * (count - large)))
    else:
        ends = [*indices_or_sections, size]
    parts, start = [], 0
    for end in ends:
        parts.append(ops.slice(input, d, start, end))
        start = end
    return tuple(parts)


def _numpy_split(name, input, sections, dim, least):
    if input.dim() < least:
        raise RuntimeError(f"{name}(): expected input with {least} dimensions or more, got {input.dim()}")
    if isinstance(sections, int) and (sections == 0 or input.size(dim) % sections):
        raise RuntimeError(
            f"{name}(): expected sections to divide the size of dimension {dim}, {input.size(dim)}, got {sections}"
        )
    return tensor_split(input, sections, dim)


@method
def hsplit(input, indices_or_sections):
    """tensor_split along dimension 1, or 0 of a vector, into parts of one size."""
    return _numpy_split("hsplit", input, indices_or_sections, 0 if input.dim() == 1 else 1, 1)


@method
def vsplit(input, indices_or_sections):
    """tensor_split along dimension 0, into parts of one size."""
    return _numpy_split("vsplit", input, indices_or_sections, 0, 2)


@method
def dsplit(input, indices_or_sections):
    """tensor_split along dimension 2, into parts of one size."""
    return _numpy_split("dsplit", input, indices_or_sections, 2, 3)


@method
def unsafe_chunk(input, chunks, dim=0):
    """chunk, whose parts may be written as if they were no views."""
    return tuple(input.chunk(chunks, dim))


@method
def unsafe_split(input, split_size, dim=0):
    """split, whose parts may be written as if they were no views."""
    return tuple(input.split(split_size, dim))


def meshgrid(*tensors, indexing=None):
    """The coordinates of a grid: each vector along a dimension of its own, repeated along the others.

    Args:
        tensors: vectors or numbers.
        indexing: "ij", the first along dimension 0; or "xy", the first two exchanged.
    """
    tensors = _list(tensors)
    if not tensors:
        raise RuntimeError("meshgrid(): expected at least one tensor, got none")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f"meshgrid(): expected indexing to be 'ij' or 'xy', got {indexing!r}")
    if indexing is None:
        _C._warn("meshgrid(): pass indexing: a future version will need it; 'ij' is what it is without")
    for t in tensors:
        if t.dim() > 1:
            raise RuntimeError(f"meshgrid(): expected tensors with 0 or 1 dimensions, got {t.dim()}")
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError(f"meshgrid(): expected tensors of one dtype, {tensors[0].dtype}, got {t.dtype}")
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors[:2] = tensors[1], tensors[0]
    shape = [t.numel() for t in tensors]
    grids = [t.reshape([-1 if d == k else 1 for d in range(len(shape))]).expand(shape) for k, t in enumerate(tensors)]
    if swap:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)


def block_diag(*tensors):
    """A matrix with the tensors, of at most two dimensions, along its diagonal and zeros elsewhere."""
    blocks = []
    for k, t in enumerate(tensors):
        if t.dim() > 2:
            raise RuntimeError(
                f"block_diag(): expected tensors with at most 2 dimensions, got {t.dim()} for tensor {k}"
            )
        blocks.append(atleast_2d(t))
    width = sum(b.size(1) for b in blocks)
    rows, left = [], 0
    for b in blocks:
        parts = [b.new_zeros((b.size(0), left)), b, b.new_zeros((b.size(0), width - left - b.size(1)))]
        rows.append(ops.cat(parts, 1))
        left += b.size(1)
    return ops.cat(rows, 0)


def cartesian_prod(*tensors):
    """All combinations of one element of each vector, as rows; of a single vector itself."""
    tensors = _list(tensors)
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"cartesian_prod(): expected tensors with 1 dimension, got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return ops.stack([g.reshape((-1,)) for g in meshgrid(*tensors, indexing="ij")], 1)


def combinations(input, r=2, with_replacement=False):
    """The combinations of `r` elements of a vector, as rows."""
    if input.dim() != 1:
        raise RuntimeError(f"combinations(): expected input with 1 dimension, got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations(): expected r of at least 0, got {r}")
    if r == 0:
        return input.new_empty((0,))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = list(choose(range(input.numel()), r))
    places = indices([i for row in chosen for i in row], input)
    return input.index_select(0, places).reshape((len(chosen), r))


@method
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices, in the dimensions dim1 and dim2 of the result, with the last dimension along a diagonal and zeros
    elsewhere."""
    n = input.dim() + 1
    first, second = wrapped(dim1, n), wrapped(dim2, n)
    if first == second:
        raise RuntimeError(f"diag_embed(): expected two different dimensions, got dim1={dim1} and dim2={dim2}")
    length = input.size(-1) + abs(offset)
    sizes = list(input.shape[:-1])
    for d in sorted((first, second)):
        sizes.insert(d, length)
    return ops.diagonal_scatter(input.new_zeros(sizes), input, offset, first, second)


@method
def diagflat(input, offset=0):
    """A matrix with all elements along a diagonal."""
    return ops.diag(input.contiguous().view((-1,)), offset)


def _triangle(name, row, col, offset, dtype, layout, device, pin_memory, keep):
    if row < 0 or col < 0:
        raise RuntimeError(f"{name}(): expected row and col of at least 0, got {row} and {col}")
    dtype = _C.int64 if dtype is None else dtype
    if dtype not in (_C.int64, _C.int32):
        raise RuntimeError(f'"{name}" not implemented for {dtype}')
    diagonal = ops.arange(col, device="cpu").unsqueeze(0) - ops.arange(row, device="cpu").unsqueeze(1)
    places = keep(diagonal, offset).nonzero().t().contiguous()
    return places.to(device=_C.get_default_device() if device is None else device, dtype=dtype)


def tril_indices(row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=None):
    """The rows and columns of the elements on and below a diagonal of a matrix, in two rows."""
    return _triangle("tril_indices", row, col, offset, dtype, layout, device, pin_memory, lambda d, k: d <= k)


def triu_indices(row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=None):
    """The rows and columns of the elements on and above a diagonal of a matrix, in two rows."""
    return _triangle("triu_indices", row, col, offset, dtype, layout, device, pin_memory, lambda d, k: d >= k)


@method
def unfold(input, dimension, size, step):
    """Slices of `size` elements along a dimension, one every `step`, in a last dimension: a view.

    Shape (..., n, ...) to (..., (n - size) // step + 1, ..., size).
    """
    d = wrapped(dimension, input.dim())
    length = input.size(d) if input.dim() else 1
    if size < 0:
        raise RuntimeError(f"unfold(): expected size of at least 0, got {size}")
    if size > length:
        raise RuntimeError(f"unfold(): expected size of at most {length}, that of dimension {d}, got {size}")
    if step <= 0:
        raise RuntimeError(f"unfold(): expected step greater than 0, got {step}")
    if input.dim() == 0:
        return input.as_strided((size,), (1,))
    sizes, strides = list(input.shape), list(input.stride())
    sizes[d] = (length - size) // step + 1
    inner = strides[d]
    strides[d] *= step
    return input.as_strided((*sizes, size), (*strides, inner), input.storage_offset())


def unravel_index(indices, shape):
    """The coordinates of flat places in a shape: a tuple of tensors, one for each dimension."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if indices.is_floating_point() or indices.dtype is _C.bool:
        raise ValueError(f"unravel_index(): expected indices of an integer dtype, got {indices.dtype}")
    if any(n < 0 for n in shape):
        raise ValueError(f"unravel_index(): expected sizes of at least 0 in shape, got {shape}")
    coordinates, step = [], 1
    for n in reversed(shape):
        coordinates.append(indices.floor_divide(step).remainder(n))
        step *= n
    return ops.stack(coordinates[::-1], -1).unbind(-1) if shape else ()
