"""Embedding and EmbeddingBag: rows of a table by their numbers, alone or summed."""

from shunt import _operators
from shunt.nn import functional as F
from shunt.nn import init
from shunt.nn.modules._settings import check_sizes
from shunt.nn.modules.module import Module
from shunt.nn.parameter import Parameter


def _row(name, padding_idx, rows):
    """padding_idx counted from the first row."""
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"{name}(): expected padding_idx from {-rows} to {rows - 1}, got {padding_idx}")
    return padding_idx % rows


def _check_weight(name, weight, rows, columns):
    if tuple(weight.shape) != (rows, columns):
        raise AssertionError(
            f"{name}(): expected _weight of shape ({rows}, {columns}), num_embeddings and embedding_dim, got "
            f"{tuple(weight.shape)}"
        )


class Embedding(Module):
    """Rows of weight (num_embeddings, embedding_dim) by number: input (*) of ints, output (*, embedding_dim).

    padding_idx: a row that is 0 at first and gets no gradient.
    max_norm: rows of a larger norm, of the order norm_type, are scaled down to it when they are looked up.
    """

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
        _weight=None,
        _freeze=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        check_sizes("Embedding", num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        if padding_idx is not None:
            padding_idx = _row("Embedding", padding_idx, num_embeddings)
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = (
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
        )
        if _weight is None:
            self.weight = Parameter(
                _operators.empty(num_embeddings, embedding_dim, device=device, dtype=dtype), not _freeze
            )
            self.reset_parameters()
        else:
            _check_weight("Embedding", _weight, num_embeddings, embedding_dim)
            self.weight = Parameter(_weight, not _freeze)

    def reset_parameters(self):
        """Draws the table again, normal."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.data[self.padding_idx].zero_()

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
    ):
        """One with this table (num_embeddings, embedding_dim)."""
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)

    def forward(self, input):
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self):
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}" + _shown(self)


class EmbeddingBag(Module):
    """The sum, mean or largest of rows of weight (num_embeddings, embedding_dim), bag by bag.

    Input (B, N) of ints, or (N) with offsets (B), where bags begin; output (B, embedding_dim). per_sample_weights, of
    the input's shape, multiply rows before they are summed.
    """

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        _weight=None,
        include_last_offset=False,
        padding_idx=None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        check_sizes("EmbeddingBag", num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        if padding_idx is not None:
            padding_idx = _row("EmbeddingBag", padding_idx, num_embeddings)
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = (
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
        )
        self.mode, self.include_last_offset = mode, include_last_offset
        if _weight is None:
            self.weight = Parameter(_operators.empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
            self.reset_parameters()
        else:
            _check_weight("EmbeddingBag", _weight, num_embeddings, embedding_dim)
            self.weight = Parameter(_weight)

    reset_parameters = Embedding.reset_parameters

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        include_last_offset=False,
        padding_idx=None,
    ):
        """One with this table (num_embeddings, embedding_dim)."""
        rows, columns = embeddings.shape
        bag = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        bag.weight.requires_grad_(not freeze)
        return bag

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self):
        return (
            f"{self.num_embeddings}, {self.embedding_dim}"
            + _shown(self)
            + f", mode={self.mode!r}"
            + ("" if self.padding_idx is None else f", padding_idx={self.padding_idx}")
        )


def _shown(module):
    """The settings of a table that differ from the defaults."""
    text = "" if module.max_norm is None else f", max_norm={module.max_norm}"
    text += "" if module.norm_type == 2 else f", norm_type={module.norm_type}"
    return text + (", scale_grad_by_freq=True" if module.scale_grad_by_freq else "")
