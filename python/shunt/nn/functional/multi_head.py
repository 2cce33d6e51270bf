"""Attention of several heads, with its projections: what nn.MultiheadAttention computes."""

import math

from shunt import _C
from shunt._autocast import by_policy
from shunt.nn.functional._common import ops
from shunt.nn.functional.attention import scaled_dot_product_attention
from shunt.nn.functional.padding import pad


def _projected(query, key, value, weights, bias):
    """The three inputs times their weights, which may stand in one matrix: then one product does for one input."""
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    if len(weights) == 1:
        if query is key and key is value:
            return ops.linear(query, weights[0], bias).chunk(3, -1)
        weights = weights[0].chunk(3)
    return tuple(ops.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))


def _addend(mask, dtype, name):
    """A mask as what is added to scores; of bools: True for what is hidden."""
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype is not _C.bool:
        raise AssertionError(
            f"multi_head_attention_forward(): expected {name} of bools or floating-point numbers, got {mask.dtype}"
        )
    return ops.zeros_like(mask, dtype=dtype).masked_fill(mask, -math.inf)


def _extended(k, v, bias_k, bias_v, add_zero_attn, masks):
    """Keys and values (S, N, E) with learnt ones and zeros at their ends, which no mask hides."""
    ends = []
    if bias_k is not None:
        ends.append((bias_k.expand(1, k.size(1), -1), bias_v.expand(1, v.size(1), -1)))
    if add_zero_attn:
        ends.append((k.new_zeros(1, *k.shape[1:]), v.new_zeros(1, *v.shape[1:])))
    if ends:
        k, v = (ops.cat([x, *more], 0) for x, more in zip((k, v), zip(*ends)))
        masks = [None if mask is None else pad(mask, (0, len(ends))) for mask in masks]
    return k, v, *masks


def _check(query, key, value, key_padding_mask, attn_mask, num_heads):
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"multi_head_attention_forward(): expected query with 2 dimensions, or 3 for a batch, got {query.dim()}"
        )
    kind = "batched (3-D)" if query.dim() == 3 else "unbatched (2-D)"
    if not key.dim() == value.dim() == query.dim():
        raise AssertionError(
            f"multi_head_attention_forward(): expected key and value with {query.dim()} dimensions, as the {kind} "
            f"query has, got {key.dim()} and {value.dim()}"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != query.dim() - 1:
        raise AssertionError(
            f"multi_head_attention_forward(): expected key_padding_mask with {query.dim() - 1} dimensions for the "
            f"{kind} query, got {key_padding_mask.dim()}"
        )
    if attn_mask is None:
        return
    if attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"multi_head_attention_forward(): expected attn_mask with 2 or 3 dimensions, got {attn_mask.dim()}"
        )
    lead = () if attn_mask.dim() == 2 else (num_heads * (query.size(1) if query.dim() == 3 else 1),)
    wanted = (*lead, query.size(0), key.size(0))
    if tuple(attn_mask.shape) != wanted:
        raise RuntimeError(
            f"multi_head_attention_forward(): expected attn_mask of shape {wanted}, got {tuple(attn_mask.shape)}"
        )


@by_policy("attention_scores")
def _masked(scores, mask):
    return scores + mask


def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Attention of num_heads parts of the last dimension. Query (L, N, E), key and value (S, N, *), or without N.

    Returns the output (L, N, E) and, with need_weights, the weights: (N, L, S), the mean of the parts', or without
    average_attn_weights (N, num_heads, L, S); else None.

    Args:
        in_proj_weight: (3 * E, E): the projections of query, key and value, one after the other.
        in_proj_bias: (3 * E): what is added to them.
        use_separate_proj_weight: whether the three other weights count in the place of in_proj_weight.
        bias_k, bias_v: a learnt key and value, (1, 1, E), or None.
        add_zero_attn: whether a key and a value of zeros are added.
        key_padding_mask: (N, S), of bools: True for keys that don't count; or numbers that are added to scores.
        attn_mask: (L, S) or (N * num_heads, L, S), of bools: True for what is hidden; or numbers.
        static_k, static_v: (N * num_heads, S, E / num_heads) in place of the projected keys and values.
        is_causal: a hint that attn_mask lets position i see positions up to i.
    """
    _check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if query.size(-1) != embed_dim_to_check:
        raise AssertionError(
            f"multi_head_attention_forward(): expected query with {embed_dim_to_check} features, got {query.size(-1)}"
        )
    given = static_k is None and static_v is None
    if given and key.shape[:-1] != value.shape[:-1]:
        raise AssertionError(
            f"multi_head_attention_forward(): expected key and value of one length and batch, got key of shape "
            f"{tuple(key.shape)} and value of shape {tuple(value.shape)}"
        )
    if embed_dim_to_check % num_heads:
        raise AssertionError(
            f"multi_head_attention_forward(): expected num_heads to divide the {embed_dim_to_check} features, got "
            f"{num_heads}"
        )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "multi_head_attention_forward(): is_causal=True is a hint about attn_mask, expected one, got None"
        )
    batched = query.dim() == 3
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else (in_proj_weight,)
    q, k, v = _projected(query, key, value, weights, in_proj_bias)
    if not batched:
        q, k, v = q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = q.shape
    if key_padding_mask is not None and tuple(key_padding_mask.shape) != (batch, k.size(0)):
        raise AssertionError(
            f"multi_head_attention_forward(): expected key_padding_mask of shape {(batch, k.size(0))}, got "
            f"{tuple(key_padding_mask.shape)}"
        )
    attn_mask, padding = (
        _addend(attn_mask, q.dtype, "attn_mask"),
        _addend(key_padding_mask, q.dtype, "key_padding_mask"),
    )
    k, v, attn_mask, padding = _extended(k, v, bias_k, bias_v, add_zero_attn, (attn_mask, padding))

    def heads(x):
        """From (*, N, E) to (N, num_heads, *, E / num_heads)."""
        return x.reshape((x.size(0), batch, num_heads, width // num_heads)).permute((1, 2, 0, 3))

    q, k, v = (
        heads(q),
        *(
            heads(x) if static is None else static.reshape((batch, num_heads, *static.shape[1:]))
            for x, static in ((k, static_k), (v, static_v))
        ),
    )
    mask = attn_mask
    if mask is not None and mask.dim() == 3:
        mask = mask.reshape((batch, num_heads, *mask.shape[1:]))
    if padding is not None:
        padding = padding.unsqueeze(1).unsqueeze(1)
        mask = padding if mask is None else mask + padding
    dropout = dropout_p if training else 0.0
    if need_weights:
        scores = (q * (1.0 / math.sqrt(width // num_heads))) @ k.transpose(-2, -1)
        scores = ops.softmax(scores if mask is None else _masked(scores, mask), -1)
        scores = ops.dropout(scores, dropout, True) if dropout > 0 else scores
        output = scores @ v
    else:
        output = scaled_dot_product_attention(q, k, v, mask, dropout)
    output = ops.linear(output.permute((2, 0, 1, 3)).reshape((length, batch, width)), out_proj_weight, out_proj_bias)
    output = output if batched else output.squeeze(1)
    if not need_weights:
        return output, None
    scores = scores.mean(1) if average_attn_weights else scores
    return output, scores if batched else scores.squeeze(0)
