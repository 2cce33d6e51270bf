"""Sequences of different lengths: padded to one tensor, or packed without the padding."""

from collections import namedtuple

from shunt._tensor import Tensor


class PackedSequence(namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])):
    """Sequences step by step, the longest first, without padding: what pack_padded_sequence() makes and RNN, LSTM and
    GRU take.

    Fields: data (elements, *); batch_sizes (steps) of int64, how many sequences go on at each step; sorted_indices and
    unsorted_indices, the order in which they stand and its inverse, or None.
    """

    __slots__ = ()
    __module__ = "shunt.nn.utils.rnn"

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            if not isinstance(data, (tuple, list)) or len(data) != 2:
                raise TypeError("PackedSequence(): expected data and batch_sizes")
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError(f"PackedSequence(): expected batch_sizes on the CPU, got {batch_sizes.device}")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """The same with data.to(...)."""
        return type(self)(self.data.to(*args, **kwargs), *self[1:])

    def float(self):
        """The same with data of float32."""
        return type(self)(self.data.float(), *self[1:])

    def double(self):
        """The same with data of float64."""
        return type(self)(self.data.double(), *self[1:])

    def cpu(self):
        """The same on the CPU."""
        return self.to("cpu")

    @property
    def is_cuda(self):
        """Whether the data are on a CUDA device."""
        return self.data.device.type == "cuda"


def invert_permutation(permutation):
    """The permutation that undoes this one. Shape (N) of int64; None of None."""
    if permutation is None:
        return None
    from shunt import arange, empty_like

    return empty_like(permutation).scatter_(0, permutation, arange(permutation.numel()))


def _lengths(lengths):
    return [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]


def _packed(steps, lengths, order):
    """Packs `steps` (L, N, *), whose sequences are sorted by length."""
    from shunt import cat, int64, tensor

    sizes = [sum(n > t for n in lengths) for t in range(lengths[0])]
    data = cat([steps[t, :size] for t, size in enumerate(sizes)])
    return PackedSequence(data, tensor(sizes, dtype=int64), order)


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs padded sequences. Input (T, N, *), or (N, T, *) with batch_first; lengths (N).

    Args:
        enforce_sorted: whether the sequences are sorted by length, the longest first; RuntimeError where they aren't.
    RuntimeError for lengths that aren't positive, or of another number.
    """
    from shunt import int64, tensor

    lengths = _lengths(lengths)
    steps = input.transpose(0, 1) if batch_first else input
    if input.numel() == 0:
        raise RuntimeError(f"pack_padded_sequence(): expected input with elements, got shape {tuple(input.shape)}")
    if len(lengths) != steps.size(1):
        raise RuntimeError(
            f"pack_padded_sequence(): expected {steps.size(1)} lengths, one for each sequence, got {len(lengths)}"
        )
    if any(n <= 0 for n in lengths):
        raise RuntimeError(f"pack_padded_sequence(): expected lengths of at least 1, got {lengths}")
    order = None
    if enforce_sorted:
        if any(a < b for a, b in zip(lengths, lengths[1:])):
            raise RuntimeError(
                f"pack_padded_sequence(): expected lengths from the longest to the shortest, got {lengths}; "
                "enforce_sorted=False sorts"
            )
    else:
        places = sorted(range(len(lengths)), key=lambda i: -lengths[i])
        order, lengths = tensor(places, dtype=int64), [lengths[i] for i in places]
        steps = steps.index_select(1, order)
    if lengths[0] > steps.size(0):
        raise RuntimeError(f"Expected lengths of at most {steps.size(0)}, the number of steps, but got {lengths[0]}")
    return _packed(steps, lengths, order)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """The inverse of pack_padded_sequence(): the padded sequences, in their first order, and their lengths.

    Args:
        padding_value: what stands behind the ends.
        total_length: the number of steps; the longest length by default. ValueError where that is more.
    """
    from shunt import int64, tensor

    sizes = sequence.batch_sizes.tolist()
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                f"pad_packed_sequence(): expected total_length of at least {steps}, the longest sequence's, got "
                f"{total_length}"
            )
        steps = total_length
    padded = sequence.data.new_full((steps, sizes[0], *sequence.data.shape[1:]), padding_value)
    for t, part in enumerate(sequence.data.split(sizes)):
        padded[t, : part.size(0)] = part
    lengths = tensor([sum(size > i for size in sizes) for i in range(sizes[0])], dtype=int64)
    if sequence.unsorted_indices is not None:
        padded, lengths = padded.index_select(1, sequence.unsorted_indices), lengths[sequence.unsorted_indices]
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences (L, *) of different lengths L as one tensor (longest L, N, *), or (N, longest L, *) with batch_first.

    Args:
        padding_value: what is put at the ends, or with padding_side="left" at the beginnings.
    """
    if padding_side not in ("left", "right"):
        raise RuntimeError(f'padding_side must be "left" or "right", got {padding_side!r}')
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    if not isinstance(sequences, (tuple, list)):
        raise RuntimeError(f"pad_sequence(): expected a list or tuple of Tensors, got {type(sequences).__name__}")
    if not sequences:
        raise RuntimeError("pad_sequence(): expected at least one sequence, got none")
    longest = max(s.size(0) for s in sequences)
    rest = sequences[0].shape[1:]
    padded = sequences[0].new_full(
        (len(sequences), longest, *rest) if batch_first else (longest, len(sequences), *rest), padding_value
    )
    for i, sequence in enumerate(sequences):
        n = sequence.size(0)
        place = slice(longest - n, longest) if padding_side == "left" else slice(0, n)
        padded[(i, place) if batch_first else (place, i)] = sequence
    return padded


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The inverse of pad_sequence(): a list of sequences."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:n] for row, n in zip(rows.unbind(0), _lengths(lengths))]


def pack_sequence(sequences, enforce_sorted=True):
    """Packs a list of sequences (L, *)."""
    return pack_padded_sequence(pad_sequence(sequences), [s.size(0) for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The inverse of pack_sequence(): a list of sequences."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)
