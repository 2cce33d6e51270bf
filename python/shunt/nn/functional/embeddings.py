"""Rows of a table by their indices."""

from shunt.nn.functional._common import ops


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of `weight` with the indices `input`. Shapes: (*) of int64 or int32, (rows, features) to (*, features).

    Args:
        padding_idx: a row that gets no gradient.
        max_norm: rows of a larger norm, of those that are looked up, are scaled down to it, in place.
        scale_grad_by_freq: whether a row's gradient is divided by how often it is looked up.
    """
    if padding_idx is None:
        padding_idx = -1
    elif padding_idx > 0:
        if padding_idx >= weight.size(0):
            raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        if padding_idx < -weight.size(0):
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx += weight.size(0)
    if max_norm is not None:
        _renormalise(weight, input, max_norm, norm_type)
    return ops.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _renormalise(weight, indices, max_norm, norm_type):
    from shunt import no_grad, tensor

    with no_grad():
        used = tensor(sorted(set(indices.reshape((-1,)).tolist())))
        rows = weight.index_select(0, used)
        norms = ops.norm(rows, norm_type, 1, True)
        scale = ops.where(norms > max_norm, max_norm / (norms + 1e-7), ops.ones_like(norms))
        weight.index_put_((used,), rows * scale)


def one_hot(tensor, num_classes=-1):
    """1 at the index that each element is, of `num_classes`, 0 elsewhere. Shape (*) of int64 to (*, num_classes) of
    int64.

    By default there are as many classes as the largest index needs.
    """
    from shunt import _C

    if tensor.dtype is not _C.int64:
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, but got {tensor.dtype}")
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return ops.empty((*tensor.shape, num_classes), dtype=_C.int64)
    if int(tensor.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(tensor.max()) + 1
    elif num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    elif num_classes <= int(tensor.max()):
        raise RuntimeError("Class values must be smaller than num_classes.")
    return ops.zeros((*tensor.shape, num_classes), dtype=_C.int64).scatter_(-1, tensor.unsqueeze(-1), 1)
