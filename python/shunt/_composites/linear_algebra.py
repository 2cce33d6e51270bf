"""Products of matrices and vectors, and distances, that are made of others."""

import math

from shunt import _C
from shunt._autocast import by_policy
from shunt._composites._common import cast_into, into, method, ops

Tensor = _C.TensorBase


def _added(input, product, beta, alpha):
    """beta * input + alpha * product; with beta 0 the input isn't looked at."""
    if not product.is_floating_point():
        beta, alpha = int(beta), int(alpha)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    return (input if beta == 1 else input * beta) + product


def _check_numbers(name, input, beta, alpha):
    if not input.is_floating_point() and (isinstance(beta, float) or isinstance(alpha, float)):
        raise RuntimeError(
            f"{name}(): expected beta and alpha to be ints for input of {input.dtype}, got {beta} and {alpha}"
        )
    if input.dtype is not _C.bool and (isinstance(beta, bool) or isinstance(alpha, bool)):
        raise RuntimeError(
            f"{name}(): expected numbers as beta and alpha for input of {input.dtype}, got {beta} and {alpha}"
        )


@method
def addmv(input, mat, vec, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * (mat @ vec). Shapes: (n) or what broadcasts to it, (n, m), (m) to (n)."""
    if mat.dim() != 2 or vec.dim() != 1 or input.dim() > 1:
        raise RuntimeError(
            f"addmv(): expected a vector, a matrix and a vector, got {input.dim()}, {mat.dim()} and {vec.dim()} "
            "dimensions"
        )
    return into(out, _added(input, ops.mv(mat, vec), beta, alpha))


@method
def addr(input, vec1, vec2, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * outer(vec1, vec2). Shapes: (n, m) or what broadcasts to it, (n), (m) to (n, m)."""
    for k, v in ((1, vec1), (2, vec2)):
        if v.dim() != 1:
            raise RuntimeError(f"addr(): expected vec{k} with 1 dimension, got {v.dim()}")
    _check_numbers("addr", input, beta, alpha)
    if input.dtype is _C.bool and vec1.dtype is _C.bool:
        product = ops.outer(vec1, vec2) if alpha else vec1.new_zeros((vec1.numel(), vec2.numel()))
        return cast_into(out, product | input if beta else product)
    return cast_into(out, _added(input, ops.outer(vec1, vec2), beta, alpha))


@method
@by_policy("addbmm")
def addbmm(input, batch1, batch2, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * the sum over the batch of batch1 @ batch2. Shapes: (n, p), (b, n, m), (b, m, p) to (n,
    p)."""
    if batch1.dim() != 3 or batch2.dim() != 3:
        raise RuntimeError(
            f"addbmm(): expected batch1 and batch2 with 3 dimensions, got {batch1.dim()} and {batch2.dim()}"
        )
    product = ops.bmm(batch1, batch2).sum(0).to(batch1.dtype)
    result = _added(input.expand(product.shape) if beta != 0 else input, product, beta, alpha)
    return into(out, result)


def _in_place(function):
    def in_place(input, *args, **kwargs):
        result = function(input, *args, **kwargs)
        if result.shape != input.shape:
            raise RuntimeError(
                f"{function.__name__}_(): expected a result of self's shape {list(input.shape)}, got "
                f"{list(result.shape)}"
            )
        return input.copy_(result)

    in_place.__name__ = in_place.__qualname__ = function.__name__ + "_"
    in_place.__doc__ = f"The in-place form of {function.__name__}(): writes the result to the tensor, and returns it."
    return method(in_place)


addmv_, addr_ = map(_in_place, (addmv, addr))
addbmm_ = _in_place(by_policy("addbmm_")(addbmm.__wrapped__))


@method
def vdot(input, other, *, out=None):
    """The dot product of two vectors."""
    return ops.dot(input, other, out=out)


@method
def inner(input, other, *, out=None):
    """The sums of products along the last dimensions. Shapes (*, n), (#, n) to (*, #); a number multiplies."""
    if input.dim() == 0 or other.dim() == 0:
        return cast_into(out, input * other)
    if input.size(-1) != other.size(-1):
        raise RuntimeError(
            f"inner(): expected last dimensions of one size, got shapes {list(input.shape)} and {list(other.shape)}"
        )
    return into(out, tensordot(input, other, ([-1], [-1])))


# A row times a column. PyTorch calls dot(), which has no policy.
_dot = by_policy("dot")(ops.mm)


def tensordot(a, b, dims=2, out=None):
    """The sums of products along pairs of dimensions.

    Args:
        dims: an int, the last so many of `a` with the first of `b`; or two lists of dimensions.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot(): expected dims of at least 0, got {dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot(): expected dims of at most {min(a.dim(), b.dim())}, the smaller number of dimensions, got "
                f"{dims}"
            )
        first, second = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        first, second = (list(d) if isinstance(d, tuple | list) else [d] for d in dims)
    if len(first) != len(second):
        raise RuntimeError(
            f"tensordot(): expected equally many dimensions of a and b in dims, got {len(first)} and {len(second)}"
        )
    first, second = [d % a.dim() for d in first], [d % b.dim() for d in second]
    for i, j in zip(first, second):
        if a.size(i) != b.size(j) and 1 not in (a.size(i), b.size(j)):
            raise RuntimeError(
                f"tensordot(): expected equal sizes, got {a.size(i)} in dimension {i} of a and {b.size(j)} in "
                f"dimension {j} of b"
            )
    # A size of 1 is repeated: its partner is summed.
    for i, j in zip(first, second):
        if a.size(i) == 1 != b.size(j):
            b = b.sum(j, True)
        elif b.size(j) == 1 != a.size(i):
            a = a.sum(i, True)
    free_a, free_b = [d for d in range(a.dim()) if d not in first], [d for d in range(b.dim()) if d not in second]
    count = math.prod(a.size(d) for d in first)
    rows = a.permute(free_a + first).reshape((math.prod(a.size(d) for d in free_a), count))
    columns = b.permute(second + free_b).reshape((count, math.prod(b.size(d) for d in free_b)))
    product = (_dot if rows.size(0) == columns.size(1) == 1 else ops.mm)(rows, columns)
    result = product.reshape([a.size(d) for d in free_a] + [b.size(d) for d in free_b])
    return into(out, result)


@method
def kron(input, other, *, out=None):
    """The Kronecker product: each element of the input times all of `other`, in its place."""
    n = max(input.dim(), other.dim())
    a, b = (x.reshape((1,) * (n - x.dim()) + tuple(x.shape)) for x in (input, other))
    a = a.reshape([s for size in a.shape for s in (size, 1)])
    b_ = b.reshape([s for size in b.shape for s in (1, size)])
    shape = [x * y for x, y in zip(input.reshape((1,) * (n - input.dim()) + tuple(input.shape)).shape, b.shape)]
    return cast_into(out, (a * b_).reshape(shape))


@method
def dist(input, other, p=2):
    """The p-norm of input - other."""
    return ops.norm(input - other, p)


@by_policy("cdist")
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances of each row of x1 from each row of x2. Shapes (*, n, m), (*, k, m) to (*, n, k)."""
    for k, x in ((1, x1), (2, x2)):
        if x.dim() < 2:
            raise RuntimeError(f"cdist(): expected x{k} with 2 dimensions or more, got {x.dim()}")
        if not x.is_floating_point():
            raise RuntimeError(f"cdist(): expected x{k} of a floating-point dtype, got {x.dtype}")
    if x1.size(-1) != x2.size(-1):
        raise RuntimeError(f"cdist(): expected rows of equal length, got {x1.size(-1)} in x1 and {x2.size(-1)} in x2")
    if p < 0:
        raise RuntimeError(f"cdist(): expected p of at least 0, got {p}")
    return ops.norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)
