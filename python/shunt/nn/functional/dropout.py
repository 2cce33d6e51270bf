"""Dropout: elements, or whole channels, that are zeroed at random in training."""

from shunt.nn.functional._common import ops


def check_probability(name, p):
    """ValueError where p is no probability, TypeError where it is no number."""
    if isinstance(p, (str, bytes)) or not hasattr(p, "__float__"):
        raise TypeError(f"{name}(): expected p to be a number, got {p!r}")
    if p < 0.0 or p > 1.0:
        raise ValueError(f"{name}(): expected p from 0 to 1, got {p}")


def _kept(input, shape, p):
    """Ones with probability 1 - p, else zeros."""
    return input.new_empty(shape).bernoulli_(1 - p)


def dropout(input, p=0.5, training=True, inplace=False):
    """In training each element is zeroed with probability `p`, and the others divided by 1 - p. ValueError for p
    outside [0, 1]."""
    check_probability("dropout", p)
    result = ops.dropout(input, p, training)
    return input.copy_(result) if inplace else result


def _features(input):
    if input.dim() < 2:
        raise RuntimeError(f"dropout of channels: expected input with 2 dimensions or more, got {input.dim()}")
    return (*input.shape[:2], *(1,) * (input.dim() - 2))


def _feature_dropout(input, p, training, inplace):
    if p == 0 or not training or input.numel() == 0:
        return input
    noise = _kept(input, _features(input), p)
    result = input * (noise if p == 1 else noise / (1 - p))
    return input.copy_(result) if inplace else result


def dropout1d(input, p=0.5, training=True, inplace=False):
    """dropout of whole channels of signals. Shape (N, C, L) or (C, L)."""
    check_probability("dropout1d", p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d(): expected input (N, C, L) or (C, L), of which it drops whole channels, got {input.dim()} "
            "dimensions"
        )
    if input.dim() == 2:
        return _feature_dropout(input.unsqueeze(0), p, training, inplace).squeeze(0)
    return _feature_dropout(input, p, training, inplace)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """dropout of whole channels of images. Shape (N, C, H, W)."""
    check_probability("dropout2d", p)
    return _feature_dropout(input, p, training, inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """dropout of whole channels of volumes. Shape (N, C, D, H, W) or (C, D, H, W)."""
    check_probability("dropout3d", p)
    if input.dim() == 4:
        return _feature_dropout(input.unsqueeze(0), p, training, inplace).squeeze(0)
    return _feature_dropout(input, p, training, inplace)


# What selu tends to where its input is very negative.
_NEGATIVE = -1.7580993408473766


def _alpha_dropout(input, shape, p, inplace):
    if p == 1:
        result = input * 0
    else:
        kept = _kept(input, shape, p)
        scale = (1 / ((1 - p) * (1 + p * _NEGATIVE**2))) ** 0.5
        result = (input * kept + (1 - kept) * _NEGATIVE) * scale - scale * _NEGATIVE * p
    return input.copy_(result) if inplace else result


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """dropout that keeps mean 0 and variance 1 (Klambauer et al. 2017), for selu."""
    check_probability("alpha_dropout", p)
    if p == 0 or not training or input.numel() == 0:
        return input
    return _alpha_dropout(input, input.shape, p, inplace)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout of whole channels."""
    check_probability("feature_alpha_dropout", p)
    if p == 0 or not training or input.numel() == 0:
        return input
    return _alpha_dropout(input, _features(input), p, inplace)
