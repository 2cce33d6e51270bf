"""Attention."""

import math

from shunt.nn.functional._common import ops


def _mask_of(query, key, attn_mask, is_causal):
    """What is added to the scores; None for nothing."""
    from shunt import _C

    if is_causal:
        if attn_mask is not None:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        attn_mask = ops.ones((query.size(-2), key.size(-2)), dtype=_C.bool).tril()
    if attn_mask is None or attn_mask.dtype is not _C.bool:
        return attn_mask
    return ops.zeros(attn_mask.shape, dtype=query.dtype).masked_fill_(attn_mask.logical_not(), -math.inf)


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """softmax(query @ key.T * scale + mask) @ value. Shapes (..., L, E), (..., S, E), (..., S, V) to (..., L, V).

    Args:
        attn_mask: added to the scores; of bool: where scores count. Broadcast to (..., L, S).
        dropout_p: the probability with which weights are dropped.
        is_causal: whether position i sees positions up to i only.
        scale: 1 / sqrt(E) by default.
        enable_gqa: whether the query's heads (dimension -3) are a multiple of the others', which are repeated.
    """
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise RuntimeError(
            "scaled_dot_product_attention(): expected query, key and value of at least 2 dimensions, but got "
            f"{query.dim()}, {key.dim()} and {value.dim()}"
        )
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead."
        )
    if enable_gqa:
        key, value = (_repeated(x, query.size(-3) // x.size(-3)) for x in (key, value))
    mask = _mask_of(query, key, attn_mask, is_causal)
    factor = math.sqrt(1.0 / math.sqrt(query.size(-1)) if scale is None else scale)
    scores = (query * factor) @ (key.transpose(-2, -1) * factor)
    if mask is not None:
        scores = scores + mask
    weights = ops.softmax(scores, -1)
    if mask is not None and attn_mask is not None:
        # A row that sees nothing gives zeros.
        weights = weights.masked_fill((scores == -math.inf).all(-1, True), 0.0)
    if dropout_p > 0:
        weights = ops.dropout(weights, dropout_p, True)
    return weights @ value


def _repeated(x, times):
    """Each head `times` times."""
    if times == 1:
        return x
    shape = (*x.shape[:-2], times, *x.shape[-2:])
    return x.unsqueeze(-3).expand(shape).reshape((*x.shape[:-3], x.size(-3) * times, *x.shape[-2:]))
