"""The standard's extension of linear algebra, as far as it needs no decompositions."""

import shunt
from shunt.array_api._data_types import promoted


def cross(x1, x2, /, *, axis=-1):
    """The cross products of vectors of three elements along a dimension; the others broadcast."""
    return shunt.linalg.cross(*shunt.broadcast_tensors(*promoted("cross", x1, x2)), dim=axis)


def diagonal(x, /, *, offset=0):
    """Views of the diagonals of matrices."""
    return shunt.linalg.diagonal(x, offset=offset)


def matmul(x1, x2, /):
    """The product of matrices; the dimensions before the last two broadcast."""
    return shunt.matmul(*promoted("matmul", x1, x2))


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norm of matrices: "fro", 1, -1, inf or -inf. 2, -2 and "nuc" need singular values (NotImplementedError)."""
    return shunt.linalg.matrix_norm(x, ord, (-2, -1), keepdims)


def matrix_power(x, n, /):
    """Square matrices to the power of an int; negative ones those of the inverse. RuntimeError if it is singular."""
    return shunt.linalg.matrix_power(x, n)


def matrix_transpose(x, /):
    """Views of matrices with rows and columns exchanged. RuntimeError for less than two dimensions."""
    return x.mT


def outer(x1, x2, /):
    """The products of each element of a vector with each of another."""
    x1, x2 = promoted("outer", x1, x2)
    return shunt.outer(x1, x2)


def tensordot(x1, x2, /, *, axes=2):
    """The sums of products over dimensions: as many of the last and the first, or those of two lists."""
    x1, x2 = promoted("tensordot", x1, x2)
    return shunt.tensordot(x1, x2, axes)


def trace(x, /, *, offset=0, dtype=None):
    """The sums of the diagonals of matrices."""
    from shunt.array_api._reductions import sum
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vecdot(x1, x2, /, *, axis=-1):
    """The sums of products along a dimension; the others broadcast. ValueError where its sizes differ."""
    x1, x2 = promoted("vecdot", x1, x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot(): the sizes of dimension {axis} differ: {x1.shape[axis]} and {x2.shape[axis]}")
    x1, x2 = shunt.broadcast_tensors(x1, x2)
    return (x1 * x2).sum(axis, dtype=x1.dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The norm of all elements, or of vectors along dimensions."""
    if axis == ():
        return x.abs() if ord != 0 else (x != 0).to(x.dtype)
    return shunt.linalg.vector_norm(x, ord, axis, keepdims)


def cholesky(x, /, *, upper=False):
    """L with L @ L.mT = x of positive definite matrices, or the transposed. LinAlgError for others."""
    return shunt.linalg.cholesky(x, upper=upper)


def det(x, /):
    """The determinants of matrices."""
    return shunt.linalg.det(x)


def inv(x, /):
    """The inverses of matrices. LinAlgError for singular ones."""
    return shunt.linalg.inv(x)


def slogdet(x, /):
    """The signs of the determinants of matrices, and the logarithms of their sizes."""
    return shunt.linalg.slogdet(x)


def solve(x1, x2, /):
    """y with x1 @ y = x2. LinAlgError for singular matrices."""
    return shunt.linalg.solve(*promoted("solve", x1, x2))
