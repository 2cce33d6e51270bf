"""Tensors stacked, split, turned and repeated. All but copies and stacks are views where they can be."""

import itertools

from shunt import _C
from shunt._composites._common import broadcast_shapes, indices, method, ops, wrapped

Tensor = _C.TensorBase


def _list(tensors):
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else list(tensors)


@method
def broadcast_to(input, size):
    """The tensor with dimensions of size 1 repeated to `size`, a view."""
    return input.expand(size)


def broadcast_tensors(*tensors):
    """The tensors broadcast to one shape, views."""
    tensors = _list(tensors)
    shape = broadcast_shapes(*(t.shape for t in tensors))
    return tuple(t.expand(shape) for t in tensors)


def _at_least(n, reshape, tensors):
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return reshape(tensors[0]) if tensors[0].dim() < n else tensors[0]
    return tuple(reshape(t) if t.dim() < n else t for t in _list(tensors))


def atleast_1d(*tensors):
    """Numbers as vectors of one element; others as they are."""
    return _at_least(1, lambda t: t.reshape((1,)), tensors)


def atleast_2d(*tensors):
    """Numbers and vectors as matrices of one row; others as they are."""
    return _at_least(2, lambda t: t.reshape((1, 1)) if t.dim() == 0 else t.unsqueeze(0), tensors)


def atleast_3d(*tensors):
    """Numbers, vectors and matrices with dimensions of size 1 around them, (1, n, 1) and (n, m, 1); others as they are."""
    return _at_least(3, lambda t: t.reshape((1, 1, 1)) if t.dim() == 0 else t.unsqueeze(0).unsqueeze(-1) if t.dim() == 1
                     else t.unsqueeze(-1), tensors)


def _stacked(name, tensors, at_least, dim, out):
    if not isinstance(tensors, tuple | list) or any(not isinstance(t, Tensor) for t in tensors):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    parts = [at_least(t) for t in tensors]
    return ops.cat(parts, dim if dim >= 0 or parts[0].dim() > 1 else 0, out=out)


def hstack(tensors, *, out=None):
    """Tensors side by side: along dimension 1, vectors along dimension 0."""
    return _stacked("hstack", tensors, atleast_1d, -1 if tensors and isinstance(tensors[0], Tensor) and tensors[0].dim() < 2 else 1, out)


def vstack(tensors, *, out=None):
    """Tensors one below the other: along dimension 0, vectors as rows."""
    return _stacked("vstack", tensors, atleast_2d, 0, out)


def row_stack(tensors, *, out=None):
    """vstack, by another name."""
    return vstack(tensors, out=out)


def dstack(tensors, *, out=None):
    """Tensors along dimension 2."""
    return _stacked("dstack", tensors, atleast_3d, 2, out)


def column_stack(tensors, *, out=None):
    """Tensors side by side, vectors and numbers as columns."""
    return _stacked("column_stack", tensors, lambda t: t.reshape((t.numel(), 1)) if t.dim() <= 1 else t, 1, out)


@method
def tile(input, *dims):
    """The tensor repeated `dims` times along its last dimensions. Shape (a, b) with dims (2, 3) to (2 * a, 3 * b)."""
    dims = tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims
    return input.repeat((1,) * (input.dim() - len(dims)) + tuple(dims))


@method
def movedim(input, source, destination):
    """The dimensions `source` at the places `destination`, each an int or a tuple; the others keep their order."""
    sources, destinations = ((s,) if isinstance(s, int) else tuple(s) for s in (source, destination))
    if len(sources) != len(destinations):
        raise RuntimeError("movedim: Invalid source or destination dims: source "
                           f"({list(sources)} dims) should contain the same number of dims as destination ({list(destinations)} dims)")
    n = input.dim()
    src, dst = [wrapped(d, n) for d in sources], [wrapped(d, n) for d in destinations]
    for name, dims in (("source", src), ("destination", dst)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
    if n == 0:
        return input.alias()
    order, rest = [-1] * n, [d for d in range(n) if d not in src]
    for s, d in zip(src, dst):
        order[d] = s
    free = iter(rest)
    return input.permute([next(free) if d < 0 else d for d in order])


@method
def moveaxis(input, source, destination):
    """movedim, by NumPy's name."""
    return movedim(input, source, destination)


@method
def swapaxes(input, axis0, axis1):
    """transpose, by NumPy's name."""
    return input.transpose(axis0, axis1)


@method
def swapaxes_(input, axis0, axis1):
    """transpose_, by NumPy's name."""
    return input.transpose_(axis0, axis1)


@method
def swapdims(input, dim0, dim1):
    """transpose, by another name."""
    return input.transpose(dim0, dim1)


@method
def swapdims_(input, dim0, dim1):
    """transpose_, by another name."""
    return input.transpose_(dim0, dim1)


def adjoint(input):
    """The matrices of the last two dimensions transposed; of at least two dimensions, or none."""
    if input.dim() == 0:
        return input.alias()
    return _matrix_transposed(input, "adjoint")


method(adjoint)


def _matrix_transposed(input, name):
    if input.dim() < 2:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got {input.dim()}-D tensor.")
    return input.transpose(-2, -1)


def _all_reversed(input, name):
    if name == "H" and input.dim() not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {input.dim()}-D tensor.")
    return input.permute(tuple(range(input.dim()))[::-1])


# T, H, mT, mH of Tensor.
PROPERTIES = {
    "T": (lambda self: _all_reversed(self, "T"), "The tensor with its dimensions in the opposite order, a view."),
    "H": (lambda self: _all_reversed(self, "H"), "The matrix transposed and conjugated, a view; RuntimeError for another."),
    "mT": (lambda self: _matrix_transposed(self, "mT"), "The matrices of the last two dimensions transposed, a view."),
    "mH": (lambda self: _matrix_transposed(self, "mH"), "The matrices of the last two dimensions transposed and conjugated, a view."),
}


@method
def ravel(input):
    """All elements in a row, a view where that is possible."""
    return input.contiguous().view((-1,))


@method
def unflatten(input, dim, sizes):
    """A dimension as several, whose sizes have its size as their product; one may be -1."""
    sizes = tuple(sizes)
    d = wrapped(dim, input.dim())
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    known = 1
    for n in sizes:
        known *= n if n != -1 else 1
    if input.dim() == 0 or (-1 not in sizes and known != input.size(d)) or (-1 in sizes and (known == 0 or input.size(d) % known)):
        size = input.size(d) if input.dim() else 1
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({size}) in the input tensor")
    return input.view((*input.shape[:d], *sizes, *input.shape[d + 1:]))


@method
def fliplr(input):
    """Columns in the opposite order; of at least two dimensions."""
    if input.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return input.flip((1,))


@method
def flipud(input):
    """Rows in the opposite order; of at least one dimension."""
    if input.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return input.flip((0,))


@method
def rot90(input, k=1, dims=(0, 1)):
    """Turned `k` times by 90 degrees, in the plane from the first of `dims` to the second; a copy."""
    dims = tuple(dims)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.dim()}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input.dim():
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    for d in dims:
        if not -input.dim() <= d < input.dim():
            raise RuntimeError(f"Rotation dim{dims.index(d)} out of range, dim{dims.index(d)} = {d}")
    k %= 4
    if k == 1:
        return input.flip((dims[1],)).transpose_(dims[0], dims[1])
    if k == 2:
        return input.flip(dims)
    return input.flip((dims[0],)).transpose_(dims[0], dims[1]) if k == 3 else input.clone(memory_format=_C.contiguous_format)


@method
def tensor_split(input, indices_or_sections, dim=0):
    """Views of the parts before, between and after places along a dimension, or of so many parts of about one size.

    Args:
        indices_or_sections: an int, how many; or a tuple of ints, or a tensor of int64 on the CPU of no or one dimension.
    """
    if input.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d = wrapped(dim, input.dim())
    if isinstance(indices_or_sections, Tensor):
        t = indices_or_sections
        if t.dtype is not _C.int64:
            raise RuntimeError(f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {t.dtype}")
        if t.dim() > 1:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but "
                               f"got a tensor with {t.dim()} dims")
        indices_or_sections = t.tolist()
    size = input.size(d)
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
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
        raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {input.dim()} dimensions!")
    if isinstance(sections, int) and (sections == 0 or input.size(dim) % sections):
        raise RuntimeError(f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {input.size(dim)} is not "
                           f"divisible by the split_size {sections}!")
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
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f"torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {indexing}")
    for t in tensors:
        if t.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
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
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {k} has {t.dim()} dimensions")
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
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return ops.stack([g.reshape((-1,)) for g in meshgrid(*tensors)], 1)


def combinations(input, r=2, with_replacement=False):
    """The combinations of `r` elements of a vector, as rows."""
    if input.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty((0,))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = list(choose(range(input.numel()), r))
    if not chosen:
        return input.new_empty((0, r))
    return input.index_select(0, indices([i for row in chosen for i in row])).reshape((len(chosen), r))


@method
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices, in the dimensions dim1 and dim2 of the result, with the last dimension along a diagonal and zeros elsewhere."""
    n = input.dim() + 1
    first, second = wrapped(dim1, n), wrapped(dim2, n)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
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
        raise RuntimeError(f"{'row' if row < 0 else 'col'} must be non-negative, got{row if row < 0 else col}")
    places = [(i, j) for i in range(row) for j in range(col) if keep(j - i, offset)]
    flat = [i for i, _ in places] + [j for _, j in places]
    dtype = _C.int64 if dtype is None else dtype
    if dtype not in (_C.int64, _C.int32):
        raise RuntimeError(f'"{name}" not implemented for {dtype}')
    return indices(flat).reshape((2, len(places))).to(dtype)


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
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if input.dim() == 0:
        return input.as_strided((size,), (1,))
    sizes, strides = list(input.shape), list(input.stride())
    sizes[d] = (length - size) // step + 1
    inner = strides[d]
    strides[d] *= step
    return input.as_strided((*sizes, size), (*strides, inner), input.storage_offset())


@method
def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element, or slice along `dim`, repeated in place: `repeats` times, or as often as a tensor says for each.

    Without `dim` of all elements in a row. With one tensor alone: its places, each as often as its element says.
    """
    if repeats is None:
        counts = input.tolist()
        if input.dim() != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        if any(c < 0 for c in counts):
            raise RuntimeError("repeats can not be negative")
        return indices([i for i, c in enumerate(counts) for _ in range(c)]).to(input.dtype)
    if dim is None:
        input, dim = input.flatten(), 0
    d = wrapped(dim, input.dim())
    length = input.size(d) if input.dim() else 1
    if isinstance(repeats, Tensor):
        if repeats.dtype not in (_C.int64, _C.int32):
            raise RuntimeError("repeats has to be Long or Int tensor")
        if repeats.dim() > 1:
            raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
        counts = repeats.reshape((-1,)).tolist()
        if len(counts) == 1:
            counts *= length
        if len(counts) != length:
            raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = {len(counts)} and "
                               f"input.size({d}) = {length}")
    else:
        counts = [repeats] * length
    if any(c < 0 for c in counts):
        raise RuntimeError("repeats can not be negative")
    places = [i for i, c in enumerate(counts) for _ in range(c)]
    if output_size is not None and output_size != len(places):
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {len(places)} but got {output_size}")
    return input.index_select(d, indices(places))


def unravel_index(indices, shape):
    """The coordinates of flat places in a shape: a tuple of tensors, one for each dimension."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if indices.is_floating_point() or indices.dtype is _C.bool:
        raise ValueError(f"expected 'indices' to be an integer tensor, but got {indices.dtype}")
    if any(n < 0 for n in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    coordinates, step = [], 1
    for n in reversed(shape):
        coordinates.append(indices.floor_divide(step).remainder(n))
        step *= n
    return ops.stack(coordinates[::-1], -1).unbind(-1) if shape else ()
