"""Attention."""

from shunt.nn.functional._common import ops


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
    return ops.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )
