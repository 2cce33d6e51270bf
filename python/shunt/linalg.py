"""Functions of matrices and vectors: torch.linalg's names, without eigenvalues and singular values."""

import math

from shunt import _C
from shunt._autocast import by_policy
from shunt._composites._common import cast_into, into, ops, wrapped


def cross(input, other, *, dim=-1, out=None):
    """The cross product of vectors of three elements along `dim`. RuntimeError for another size."""
    return ops.linalg_cross(input, other, dim=dim, out=out)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices, by default of the last two dimensions: a view."""
    return A.diagonal(offset, dim1, dim2)


@by_policy("linalg_vecdot")
def vecdot(x, y, *, dim=-1, out=None):
    """The sums of products along `dim`."""
    return into(out, (x * y).sum(dim))


def matmul(input, other, *, out=None):
    """matmul(), by another name."""
    return ops.matmul(input, other, out=out)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """The `ord`-norm of all elements, or along dimensions: a number, inf and -inf among them. RuntimeError for
    integers."""
    if isinstance(dim, int):
        dim = (dim,)
    return ops.linalg_vector_norm(x, ord, dim, keepdim, dtype=dtype, out=out)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None):
    """The norm of matrices in two dimensions: "fro", 1, -1, inf or -inf. 2, -2 and "nuc" need singular values
    (NotImplementedError)."""
    if isinstance(dim, int) or len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm(): expected two dimensions in dim, got {dim}")
    if A.dim() < 2:
        raise RuntimeError(f"linalg.matrix_norm(): expected A with 2 dimensions or more, got {A.dim()}")
    if not A.is_floating_point():
        raise RuntimeError(f"linalg.matrix_norm(): expected A of a floating-point dtype, got {A.dtype}")
    rows, columns = (wrapped(d, A.dim()) for d in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm(): expected two different dimensions in dim, got {tuple(dim)}")
    if dtype is not None:
        A = A.to(dtype)
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim, out=out)
    if ord in ("nuc", 2, -2):
        raise NotImplementedError(f"linalg.matrix_norm(): ord={ord!r} needs singular values, which are not implemented")
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm(): expected ord to be 'fro', 1, -1, inf or -inf, got {ord!r}")
    inner, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = A.abs().sum(inner, keepdim)
    if not keepdim and other > inner:
        other -= 1
    return into(out, (ops.amax if ord > 0 else ops.amin)(sums, other, keepdim))


class LinAlgError(RuntimeError):
    """A matrix that has no such factor, or whose equations have no solution."""


def cholesky_ex(A, *, upper=False, check_errors=False, out=None):
    """(L, info) with L @ L.mT = A, for positive definite matrices, of which the lower triangles are read, with `upper`
    the upper ones. info, int32, is 0, or the order of the first leading minor that isn't positive; L is of no use then.

    Args:
        upper: whether L.mT is returned instead.
        check_errors: LinAlgError instead of info.
    """
    return ops.linalg_cholesky_ex(A, upper=upper, check_errors=check_errors, out=out)


def cholesky(A, *, upper=False, out=None):
    """L with L @ L.mT = A. Shape (..., n, n); LinAlgError for a matrix that isn't positive definite."""
    return ops.linalg_cholesky(A, upper=upper, out=out)


def solve_triangular(A, B, *, upper, left=True, unitriangular=False, out=None):
    """X with A @ X = B, for triangular A of which the other triangle isn't read. Shapes (..., n, n) and (..., n, k).

    Args:
        upper: whether A is upper triangular.
        left: False solves X @ A = B.
        unitriangular: takes A's diagonal to be ones.
    """
    return ops.linalg_solve_triangular(A, B, upper=upper, left=left, unitriangular=unitriangular, out=out)


def solve_ex(A, B, *, left=True, check_errors=False, out=None):
    """(result, info): solve() without an error for singular matrices, of whose result nothing is of use. info, int32,
    is 0, or the place, from 1, of the first pivot that is 0.

    Args:
        left: False solves X @ A = B.
        check_errors: LinAlgError instead of info.
    """
    return ops.linalg_solve_ex(A, B, left=left, check_errors=check_errors, out=out)


def solve(A, B, *, left=True, out=None):
    """X with A @ X = B. Shapes (..., n, n) and (..., n, k), or (n,), or a batch of vectors (..., n). LinAlgError for
    a singular matrix.

    Args:
        left: False solves X @ A = B.
    """
    return ops.linalg_solve(A, B, left=left, out=out)


def inv_ex(A, *, check_errors=False, out=None):
    """(inverse, info): inv() without an error for singular matrices, of whose inverse nothing is of use. info, int32,
    is 0, or the place, from 1, of the first pivot that is 0.

    Args:
        check_errors: LinAlgError instead of info.
    """
    return ops.linalg_inv_ex(A, check_errors=check_errors, out=out)


def inv(A, *, out=None):
    """The inverses of matrices. LinAlgError for a singular one."""
    return ops.linalg_inv(A, out=out)


def slogdet(A, *, out=None):
    """(sign, logabsdet) of the determinants of matrices."""
    return ops.linalg_slogdet(A, out=out)


def det(A, *, out=None):
    """The determinants of matrices."""
    return ops.linalg_det(A, out=out)


def norm(A, ord=None, dim=None, keepdim=False, *, out=None, dtype=None):
    """The norm of vectors or matrices: of two dimensions with `ord` that of matrices, without `ord` the root of the
    sum of squares."""
    if ord is not None and dim is None and A.dim() not in (1, 2):
        raise RuntimeError(f"linalg.norm(): expected A with 1 or 2 dimensions, for ord without dim, got {A.dim()}")
    if dim is not None and not isinstance(dim, int) and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm(): expected one or two dimensions in dim, got {list(dim)}")
    of_matrices = ord is not None and (len(dim) == 2 if isinstance(dim, tuple | list) else dim is None and A.dim() == 2)
    if of_matrices:
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype, out=out)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: Order {ord} is of matrices, but got a vector")
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype, out=out)


def matrix_power(A, n, *, out=None):
    """Square matrices to the power of an int, for negative ones of their inverses."""
    if A.dim() < 2 or A.size(-1) != A.size(-2):
        raise RuntimeError(f"linalg.matrix_power(): expected square matrices in A, got shape {tuple(A.shape)}")
    if n < 0:
        A, n = inv(A), -n
    if n == 0:
        identity = ops.eye(A.size(-1), dtype=A.dtype, device=A.device).expand(A.shape)
        return cast_into(out, identity.contiguous())
    result, square = None, A
    while n:
        if n & 1:
            result = square if result is None else result @ square
        n >>= 1
        if n:
            square = square @ square
    return into(out, result.clone() if result is A else result)


def multi_dot(tensors, *, out=None):
    """The product of matrices, of which the first and the last may be vectors, in the order that takes the fewest
    multiplications."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"linalg.multi_dot(): expected two tensors or more, got {len(tensors)}")
    for k, t in enumerate(tensors):
        ends = k in (0, len(tensors) - 1)
        if t.dim() != 2 and not (ends and t.dim() == 1):
            raise RuntimeError(
                f"linalg.multi_dot(): expected tensor {k} with {'1 or 2 dimensions' if ends else '2 dimensions'}, got "
                f"{t.dim()}"
            )
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError(
                f"linalg.multi_dot(): expected tensors of one dtype, got {tensors[0].dtype} for tensor 0 and {t.dtype} "
                f"for tensor {k}"
            )
    first, last = tensors[0].dim() == 1, tensors[-1].dim() == 1
    matrices = [
        tensors[0].unsqueeze(0) if first else tensors[0],
        *tensors[1:-1],
        tensors[-1].unsqueeze(1) if last else tensors[-1],
    ]
    for k, (a, b) in enumerate(zip(matrices, matrices[1:])):
        if a.size(1) != b.size(0):
            raise RuntimeError(
                f"multi_dot(): tensors {k} and {k + 1} with shapes {list(tensors[k].shape)} and "
                f"{list(tensors[k + 1].shape)} cannot be multiplied"
            )
    result = _chain(matrices)
    if first:
        result = result.squeeze(0)
    if last:
        result = result.squeeze(-1)
    return into(out, result)


def _chain(matrices):
    """Matrix chain multiplication by dynamic programming."""
    n = len(matrices)
    sizes = [m.size(0) for m in matrices] + [matrices[-1].size(1)]
    cost, cut = {}, {}
    for i in range(n):
        cost[i, i] = 0
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], cut[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def product(i, j):
        return matrices[i] if i == j else ops.mm(product(i, cut[i, j]), product(cut[i, j] + 1, j))

    return product(0, n - 1)


def vander(x, *, N=None):
    """The powers 0, 1, ... N - 1 of each element, in a last dimension; N is the size of x's last one by default."""
    if x.dim() == 0:
        x = x.unsqueeze(0)
    count = x.size(-1) if N is None else N
    if count <= 1:
        raise RuntimeError(f"linalg.vander(): expected N greater than 1, got {count}")
    ones = ops.ones_like(x).unsqueeze(-1) if x.is_floating_point() else ops.ones_like(x, dtype=_C.int64).unsqueeze(-1)
    powers = x.unsqueeze(-1).expand((*x.shape, count - 1)).cumprod(-1)
    return ops.cat([ones, powers], -1)


def __getattr__(name):
    import sys

    from shunt._near_names import no_name
    raise no_name(__name__, name, globals(), sys._getframe(1), __file__)
