"""Distances and similarities of vectors."""

from shunt.nn.functional._common import ops


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 + eps along the last dimension."""
    difference = x1 - x2 + eps
    return ops.norm(difference, p, difference.dim() - 1 if difference.dim() else 0, keepdim)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The dot product along `dim`, divided by both norms, of which each is at least `eps`."""
    return ops.cosine_similarity(x1, x2, dim, eps)


def cosine_similarity_of(x1, x2, dim, eps):
    """The cosine as cosine_embedding_loss has it, with eps added to the squares."""
    product = (x1 * x2).sum(dim)
    return product / ops.sqrt(((x1 * x1).sum(dim) + eps) * ((x2 * x2).sum(dim) + eps))


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """The input divided by its p-norm along `dim`, of at least `eps`."""
    norm = ops.norm(input, p, dim, True).clamp_min(eps)
    if out is None:
        return input / norm
    return ops.div(input, norm.expand_as(input), out=out)


def pdist(input, p=2.0):
    """The p-norm distances of all pairs of rows: those of the upper triangle, row by row. Shape (n, m) to (n * (n - 1)
    / 2,)."""
    if input.dim() != 2:
        raise RuntimeError(f"pdist(): expected input with 2 dimensions, got {input.dim()}")
    if p < 0:
        raise RuntimeError(f"pdist(): expected p of at least 0, got {p}")
    n = input.size(0)
    first = [i for i in range(n) for _ in range(i + 1, n)]
    second = [j for i in range(n) for j in range(i + 1, n)]
    if not first:
        return input[:0].sum(1)
    from shunt import tensor

    return ops.norm(input.index_select(0, tensor(first)) - input.index_select(0, tensor(second)), p, 1)
