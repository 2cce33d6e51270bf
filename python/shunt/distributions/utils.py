"""What distributions share: arguments of one shape, and probabilities and their logarithms."""

from numbers import Number

from shunt import _C, finfo
from shunt import _operators as ops
from shunt._composites import broadcast_tensors
from shunt._tensor import Tensor
from shunt.autograd import enable_grad

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits"]


def broadcast_all(*values):
    """Tensors and numbers as tensors of one shape. Numbers have the dtype of the first tensor, or the default one.

    ValueError for what is neither.
    """
    if not all(isinstance(v, (Tensor, Number)) for v in values):
        raise ValueError(f"broadcast_all(): expected Tensors and numbers, got {[type(v).__name__ for v in values]}")
    like = next((v for v in values if isinstance(v, Tensor)), None)
    options = {"dtype": _C.get_default_dtype()} if like is None else {"dtype": like.dtype, "device": like.device}
    return broadcast_tensors([v if isinstance(v, Tensor) else _C.tensor(v, **options) for v in values])


def batch_shape_of(given, made):
    """The batch shape of parameters: () where all were given as numbers."""
    return _C.Size() if all(isinstance(g, Number) for g in given) else made.size()


def logits_to_probs(logits, is_binary=False):
    """Probabilities of unnormalized logarithms along the last dimension, or of log odds."""
    return ops.sigmoid(logits) if is_binary else ops.softmax(logits, -1)


def clamp_probs(probs):
    """Probabilities kept from 0 and 1 by the dtype's epsilon."""
    eps = finfo(probs.dtype).eps
    return ops.clamp(probs, min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """The logarithms of probabilities, or their log odds."""
    clamped = clamp_probs(probs)
    return ops.log(clamped) - ops.log1p(-clamped) if is_binary else ops.log(clamped)


class lazy_property:
    """A property that is computed, with gradients, when it's asked for first, and is an attribute from then on."""

    def __init__(self, wrapped):
        self.wrapped, self.__doc__ = wrapped, wrapped.__doc__

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)
