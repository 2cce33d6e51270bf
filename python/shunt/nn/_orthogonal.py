"""Orthonormal matrices, composed of products: Gram-Schmidt, reflections, exponentials of skew-symmetric matrices."""

import math

from shunt import _operators as ops


def orthonormal_columns(a):
    """The factor Q of a = QR whose R has a positive diagonal. Shape (..., m, n), m >= n, of full rank.

    Gram-Schmidt with each column projected twice, which is as orthogonal as rounding allows (Giraud and others 2005).
    """
    found = []
    for j in range(a.size(-1)):
        column = a[..., j : j + 1]
        if found:
            before = ops.cat(found, -1)
            for _ in range(2):
                column = column - before @ (before.transpose(-2, -1) @ column)
        found.append(column / (column * column).sum(-2, True).sqrt())
    return ops.cat(found, -1)


def reflections(a):
    """Householder's form of a = QR: vectors below the diagonal, R on and above it, and what each reflection is scaled
    by.

    Shape (..., m, n), m >= n, to the same and (..., n): the reflections I - tau v v^T, whose v has 1 at the diagonal.
    """
    a, taus = a.clone(), []
    for j in range(a.size(-1)):
        column = a[..., j:, j]
        head, rest = column[..., :1], (column[..., 1:] * column[..., 1:]).sum(-1, True)
        norm = (head * head + rest).sqrt()
        nothing = rest == 0
        beta = ops.where(nothing, head, ops.where(head > 0, -norm, norm))
        one = ops.ones_like(head)
        tau = ops.where(nothing, ops.zeros_like(head), (beta - head) / ops.where(nothing, one, beta))
        vector = ops.cat([one, column[..., 1:] / ops.where(nothing, one, head - beta)], -1).unsqueeze(-1)
        block = a[..., j:, j:]
        block = block - tau.unsqueeze(-1) * (vector @ (vector.transpose(-2, -1) @ block))
        a[..., j:, j:] = block
        a[..., j + 1 :, j] = vector[..., 1:, 0]
        taus.append(tau)
    return a, ops.cat(taus, -1)


def product_of_reflections(a, tau):
    """The first columns of the product of the reflections I - tau v v^T, v from below a's diagonal. Shape (..., m,
    n)."""
    m, n = a.shape[-2:]
    unit = ops.eye(m, n, dtype=a.dtype, device=a.device)
    vectors = a.tril(-1) + unit
    q = unit.expand(a.shape)
    for j in reversed(range(n)):
        vector = vectors[..., j : j + 1]
        q = q - tau[..., j : j + 1].unsqueeze(-1) * (vector @ (vector.transpose(-2, -1) @ q))
    return q


def exponential(a):
    """exp of square matrices (..., n, n): the series of a / 2^s, squared s times."""
    norm = float(ops.abs(a.detach()).sum(-1).max()) if a.numel() else 0.0
    halvings = max(0, math.ceil(math.log2(norm)) + 1) if norm > 0 and math.isfinite(norm) else 0
    a = a / 2.0**halvings
    unit = ops.eye(a.size(-1), dtype=a.dtype, device=a.device)
    result = unit.expand(a.shape)
    for k in range(16, 0, -1):
        result = unit + (a @ result) / k
    for _ in range(halvings):
        result = result @ result
    return result


def cayley(a):
    """(I - a / 2)^-1 (I + a / 2) of skew-symmetric a (..., n, n), by elimination, which needs no exchange of rows
    here."""
    n = a.size(-1)
    unit = ops.eye(n, dtype=a.dtype, device=a.device)
    rows = ops.cat([unit - a / 2, unit + a / 2], -1)
    for k in range(n):
        pivot = rows[..., k : k + 1, :] / rows[..., k : k + 1, k : k + 1]
        others = rows[..., :, k : k + 1]
        rows = rows - others * pivot
        rows = ops.cat([rows[..., :k, :], pivot, rows[..., k + 1 :, :]], -2)
    return rows[..., n:]
