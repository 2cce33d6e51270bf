"""Normalisation over the batch, layers, groups and instances."""

from shunt._autocast import by_policy
from shunt.nn.functional._common import ops


def _check_more_than_one(name, shape):
    count = shape[0]
    for n in shape[2:]:
        count *= n
    if count == 1:
        raise ValueError(
            f"{name}(): expected more than one value to take the mean of, in training, got shape {tuple(shape)}"
        )


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel, dimension 1: of the batch in training, else the
    running ones.

    In training the running mean and variance, where given, move towards the batch's by `momentum`. ValueError for a
    batch of one element
    a channel in training.
    """
    if training:
        _check_more_than_one("batch_norm", input.shape)
    return ops.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5
):
    """batch_norm of each sample for itself. ValueError for instances of one element."""
    if use_input_stats:
        size = 1
        for n in input.shape[2:]:
            size *= n
        if size == 1:
            raise ValueError(
                "instance_norm(): expected images of more than one element, in training, got input of shape "
                f"{tuple(input.shape)}"
            )
    if use_input_stats is False and (running_mean is None or running_var is None):
        raise RuntimeError("instance_norm(): expected running_mean and running_var for use_input_stats=False, got None")
    n, channels = input.shape[:2]
    repeated = [None if t is None else t.repeat((n,)) for t in (weight, bias, running_mean, running_var)]
    folded = input.contiguous().reshape((1, n * channels, *input.shape[2:]))
    result = ops.batch_norm(
        folded, repeated[0], repeated[1], repeated[2], repeated[3], use_input_stats, momentum, eps, False
    )
    for running, of_all in ((running_mean, repeated[2]), (running_var, repeated[3])):
        if running is not None:
            running.copy_(of_all.reshape((n, channels)).mean(0))
    return result.reshape(input.shape)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """(x - mean) / sqrt(var + eps) * weight + bias, over the last dimensions, whose sizes are `normalized_shape`."""
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """x / sqrt(mean(x^2) + eps) * weight, over the last dimensions, whose sizes are `normalized_shape`.

    `eps` is by default the distance from 1 to the next number of the dtype.
    """
    return ops.rms_norm(input, normalized_shape, weight, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """layer_norm of groups of channels (dimension 1), with a weight and a bias for each channel.

    Raises RuntimeError where the channels can't be divided into so many groups, ValueError for groups of one element.
    """
    if input.dim() < 2:
        raise RuntimeError(f"group_norm(): expected input with 2 dimensions or more, got {input.dim()}")
    n, channels = input.shape[:2]
    elements = n * channels // max(num_groups, 1)
    _check_more_than_one("group_norm", (elements, num_groups, *input.shape[2:]))
    return ops.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """x / (k + alpha * mean)^beta, where the mean is that of the squares of `size` channels around each."""
    dim = input.dim()
    if dim < 3:
        raise ValueError(f"local_response_norm(): expected input with 3 dimensions or more, got {dim}")
    if input.numel() == 0:
        return input
    from shunt.nn.functional.padding import pad

    squares = (input * input).unsqueeze(1)
    n, _, channels = squares.shape[:3]
    rows = squares.reshape((n, 1, channels, -1))
    rows = pad(rows, (0, 0, size // 2, (size - 1) // 2))
    mean = (_means_as_3d if dim > 3 else _means)(rows, size).reshape(input.shape)
    return input / (mean * alpha + k).pow(beta)


def _means(rows, size):
    return ops.avg_pool2d(rows, (size, 1), (1, 1))


# PyTorch takes avg_pool3d for these inputs, which autocast casts.
_means_as_3d = by_policy("avg_pool3d")(_means)
