"""Attention of several heads (Vaswani and others 2017)."""

import math

from shunt import _operators
from shunt.nn import functional as F
from shunt.nn import init
from shunt.nn.modules.linear import Linear
from shunt.nn.modules.module import Module
from shunt.nn.parameter import Parameter


def _as_addend(mask, dtype):
    """A mask of bools, True for what is hidden, as the number that is added to scores."""
    if mask.dtype is not _bool():
        return mask
    return _operators.zeros_like(mask, dtype=dtype).masked_fill(mask, -math.inf)


def _bool():
    from shunt import bool as bool_dtype

    return bool_dtype


class MultiheadAttention(Module):
    """Attention of num_heads parts of the last dimension. Query (L, N, E), key (S, N, kdim), value (S, N, vdim); with
    batch_first the batch comes first; without a batch N is left out.

    add_bias_kv adds a learnt key and value, add_zero_attn ones of zeros, to those that are given.

    Returns the output (L, N, E) and the weights (N, L, S), averaged over heads if so told; None without need_weights.
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim, self.head_dim = kdim or embed_dim, vdim or embed_dim, embed_dim // num_heads
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        options = {"device": device, "dtype": dtype}
        widths = {"q": embed_dim, "k": self.kdim, "v": self.vdim}
        same = self._qkv_same_embed_dim
        self.register_parameter(
            "in_proj_weight", Parameter(_operators.empty(3 * embed_dim, embed_dim, **options)) if same else None
        )
        for name, width in widths.items():
            self.register_parameter(
                f"{name}_proj_weight", None if same else Parameter(_operators.empty(embed_dim, width, **options))
            )
        self.register_parameter("in_proj_bias", Parameter(_operators.empty(3 * embed_dim, **options)) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, **options)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(
                name, Parameter(_operators.empty(1, 1, embed_dim, **options)) if add_bias_kv else None
            )
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def _projected(self, query, key, value):
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        if self._qkv_same_embed_dim:
            if query is key and key is value:
                return F.linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, -1)
            weights = self.in_proj_weight.chunk(3)
        else:
            weights = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        return tuple(F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))

    def _extended(self, k, v, attn_mask, key_padding_mask):
        """Keys and values (N, S, E) with the learnt ones and zeros at their ends, which no mask hides."""
        ends = []
        if self.bias_k is not None:
            ends.append((self.bias_k.expand(k.size(0), 1, -1), self.bias_v.expand(v.size(0), 1, -1)))
        if self.add_zero_attn:
            ends.append((k.new_zeros(k.size(0), 1, k.size(2)), v.new_zeros(v.size(0), 1, v.size(2))))
        if not ends:
            return k, v, attn_mask, key_padding_mask
        k, v = (_operators.cat([x, *more], 1) for x, more in zip((k, v), zip(*ends)))
        attn_mask, key_padding_mask = (
            None if mask is None else F.pad(mask, (0, len(ends))) for mask in (attn_mask, key_padding_mask)
        )
        return k, v, attn_mask, key_padding_mask

    def _heads(self, x):
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)  # (N, heads, L, head_dim)

    def _mask(self, key_padding_mask, attn_mask, is_causal, scores):
        mask = None
        if attn_mask is not None:
            mask = _as_addend(attn_mask, scores.dtype)
            if mask.dim() == 3:
                mask = mask.unflatten(0, (scores.shape[0], self.num_heads))
        elif is_causal:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        if key_padding_mask is not None:
            padding = _as_addend(key_padding_mask, scores.dtype).unsqueeze(1).unsqueeze(1)
            mask = padding if mask is None else mask + padding
        return mask

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        if query.dim() not in (2, 3):
            raise AssertionError(
                f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D tensor"
            )
        batched = query.dim() == 3
        q, k, v = self._projected(query, key, value)
        if not batched:
            q, k, v = q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0)
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            q, k, v = q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)
        k, v, attn_mask, key_padding_mask = self._extended(k, v, attn_mask, key_padding_mask)
        q, k, v = self._heads(q), self._heads(k), self._heads(v)
        scores = (q * (1.0 / math.sqrt(self.head_dim))) @ k.transpose(-2, -1)
        mask = self._mask(key_padding_mask, attn_mask, is_causal, scores)
        if mask is not None:
            scores = scores + mask
        weights = F.dropout(F.softmax(scores, -1), self.dropout, self.training)
        output = self.out_proj((weights @ v).transpose(1, 2).flatten(2))
        if not batched:
            output = output.squeeze(0)
        elif not self.batch_first:
            output = output.transpose(0, 1)
        if not need_weights:
            return output, None
        weights = weights.mean(1) if average_attn_weights else weights
        return output, weights if batched else weights.squeeze(0)
