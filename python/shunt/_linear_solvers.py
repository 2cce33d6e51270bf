"""Factors of matrices and solutions of linear equations, made of operators: as many steps as the matrix has rows, in
each of which all matrices of a batch go on together. Gradients and vmap go through the steps."""

from shunt import _C
from shunt._composites._common import into, ops
from shunt._composites.reductions import _named

Tensor = _C.TensorBase


class LinAlgError(RuntimeError):
    """A matrix that has no such factor, or whose equations have no solution."""

    __module__ = "shunt.linalg"


cholesky_result = _named("linalg_cholesky_ex", "L", "info")
slogdet_result = _named("linalg_slogdet", "sign", "logabsdet")


def check_square(name, A):
    """TypeError for no tensor, RuntimeError for one that is no batch of square floating-point matrices."""
    if not isinstance(A, Tensor):
        raise TypeError(f"{name}(): argument 'A' (position 1) must be Tensor, not {type(A).__name__}")
    if A.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )
    if A.dtype not in (_C.float32, _C.float64):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype}")


def _symmetric(A):
    # The lower triangle's values, with gradients for both triangles.
    half = 0.5 * (A + A.transpose(-2, -1))
    values = A.detach().tril() + A.detach().tril(-1).transpose(-2, -1)
    return half + (values - half.detach())


def cholesky_steps(A):
    """(lower triangular factor, by matrix the first leading minor that isn't positive, or 0)."""
    n = A.shape[-1]
    rest, columns, pivots = _symmetric(A), [], []
    for k in range(n):
        pivot = rest[..., :1, :1]
        pivots.append(pivot[..., 0, 0].detach())
        column = rest[..., :, :1] / pivot.sqrt()
        columns.append(ops.cat([column.new_zeros((*A.shape[:-2], k, 1)), column], -2) if k else column)
        below = column[..., 1:, :]
        rest = rest[..., 1:, 1:] - below * below.transpose(-2, -1)
    if not n:
        return A.clone(), ops.zeros(A.shape[:-2], dtype=_C.int32, device=A.device)
    bad = ~(ops.stack(pivots, -1) > 0)
    first = ops.where(bad.any(-1), bad.to(_C.int64).argmax(-1) + 1, 0).to(_C.int32)
    return ops.cat(columns, -1), first


def lower_solved(A, B, unit):
    """The solution X of A @ X = B for lower triangular A, by halves."""
    n = A.shape[-1]
    if n <= 1:
        # Without the diagonal nothing of A is read, and the sum of no elements keeps it in the graph.
        return B + A[..., :0, :].sum() if unit or n == 0 else B / A
    m = n // 2
    top = lower_solved(A[..., :m, :m], B[..., :m, :], unit)
    bottom = lower_solved(A[..., m:, m:], B[..., m:, :] - A[..., m:, :m] @ top, unit)
    return ops.cat([top, bottom], -2)


def upper_solved(A, B, unit):
    """The same for upper triangular A."""
    n = A.shape[-1]
    if n <= 1:
        return B + A[..., :0, :].sum() if unit or n == 0 else B / A
    m = n // 2
    bottom = upper_solved(A[..., m:, m:], B[..., m:, :], unit)
    top = upper_solved(A[..., :m, :m], B[..., :m, :] - A[..., :m, m:] @ bottom, unit)
    return ops.cat([top, bottom], -2)


def _exchange(n, place, sign):
    """(0 ... n - 1 with the first and the one at place exchanged, the sign after that)."""
    order = ops.arange(n, device=place.device)
    order = ops.where(order == 0, place, ops.where(order == place, 0, order))
    return order, ops.where(place.squeeze(-1) == 0, sign, -sign)


def eliminated(A, B, columns=False):
    """(U, Y, sign): Gauss's elimination with partial pivoting of A @ X = B to U @ X = Y, U upper triangular, where
    sign is -1 for an odd number of exchanged rows, else 1.

    Args:
        columns: exchanges a column of zeros for a later one, which sign counts, too. All zeros of U's diagonal come
            last then, and the product of the diagonal has a singular matrix's gradient. B has to be empty.
    """
    n = A.shape[-1]
    rest, rows = ops.cat([A, B], -1), []
    sign = ops.ones(A.shape[:-2], dtype=A.dtype, device=A.device)
    for k in range(n):
        if columns and k < n - 1:
            place = (rest.detach() != 0).any(-2).to(_C.int64).argmax(-1, keepdim=True)
            order, sign = _exchange(n - k, place, sign)
            rest = rest.gather(-1, order.unsqueeze(-2).expand(rest.shape))
        place = rest[..., :, 0].detach().abs().argmax(-1, keepdim=True)
        order, sign = _exchange(n - k, place, sign)
        rest = rest.gather(-2, order.unsqueeze(-1).expand(rest.shape))
        pivot, row = rest[..., :1, :1], rest[..., :1, :]
        rows.append(ops.cat([row.new_zeros((*A.shape[:-2], 1, k)), row], -1) if k else row)
        # A column that is all zeros is left as it is: U has a 0 there.
        factor = rest[..., 1:, :1] / ops.where(pivot == 0, 1, pivot)
        rest = (rest[..., 1:, :] - factor * row)[..., :, 1:]
    whole = ops.cat(rows, -2) if rows else rest
    return whole[..., :, :n], whole[..., :, n:], sign


def diagonal_of(U):
    return U.diagonal(0, -2, -1)


def solved(name, A, B):
    """The solution of A @ X = B. LinAlgError for a matrix that is singular."""
    U, Y, _ = eliminated(A, B)
    zero = diagonal_of(U) == 0
    if not A.is_meta and bool(zero.any()):
        if name == "linalg.inv":
            first = int(zero.reshape((-1, zero.shape[-1])).to(_C.int64).amax(0).argmax()) + 1
            raise LinAlgError(
                f"linalg.inv: The diagonal element {first} is zero, the inversion could not be completed because "
                "the input matrix is singular."
            )
        raise LinAlgError("torch.linalg.solve: The solver failed because the input matrix is singular.")
    return upper_solved(U, Y, False)


def by_columns(result, out):
    """The result in the order of memory that LAPACK leaves, or written to `out`, which gets that order where it is
    resized."""
    if out is not None and out.shape != result.shape and out.dtype is result.dtype:
        of_rows = ops.empty(result.mT.shape, dtype=out.dtype, device="meta")
        out.resize_(result.shape).as_strided_(result.shape, of_rows.mT.stride())
    return into(out, result.mT.contiguous().mT if out is None else result)
