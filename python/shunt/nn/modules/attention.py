"""Attention of several heads (Vaswani and others 2017)."""

from shunt import _operators
from shunt.nn import functional as F
from shunt.nn import init
from shunt.nn.modules.linear import Linear
from shunt.nn.modules.module import Module
from shunt.nn.parameter import Parameter


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
                f"MultiheadAttention(): expected embed_dim and num_heads of at least 1, got {embed_dim} and {num_heads}"
            )
        if embed_dim % num_heads:
            raise AssertionError(
                f"MultiheadAttention(): expected num_heads to divide embed_dim, {embed_dim}, got {num_heads}"
            )
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
        batch_comes_first = self.batch_first and query.dim() == 3
        if batch_comes_first:
            # One tensor stays one: then one product projects it.
            turned = {id(x): x.transpose(0, 1) for x in (query, key, value)}
            query, key, value = (turned[id(x)] for x in (query, key, value))
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return output.transpose(0, 1) if batch_comes_first else output, weights
