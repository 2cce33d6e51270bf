"""Initial values of parameters: each function changes a tensor in place, unrecorded, and returns it."""

import math

from shunt.autograd import no_grad

_GAINS = {
    "linear": 1.0,
    "conv1d": 1.0,
    "conv2d": 1.0,
    "conv3d": 1.0,
    "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity, param=None):
    """The factor by which values in front of this nonlinearity are scaled.

    "leaky_relu" takes its negative slope (0.01) as param. ValueError for unknown names.
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"nn.init: expected negative_slope to be a number, got {slope!r}")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Uniform between a and b."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal of this mean and standard deviation."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal, cut off below a and above b, by the inverse of its distribution function."""
    from statistics import NormalDist

    def probability(x):
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    low, high = probability((a - mean) / std), probability((b - mean) / std)
    standard = NormalDist()
    with no_grad():
        tensor.uniform_(low, high, generator=generator)
        flat = tensor.reshape(-1)
        for i, p in enumerate(flat.tolist()):
            flat[i] = standard.inv_cdf(min(max(p, 1e-12), 1 - 1e-12))
        tensor.copy_(flat.reshape(tensor.shape))
        return tensor.mul_(std).add_(mean).clamp_(a, b)


def constant_(tensor, val):
    """One value everywhere."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor):
    """The identity, of a tensor of two dimensions."""
    if tensor.ndimension() != 2:
        raise ValueError(f"eye_(): expected a tensor with 2 dimensions, got {tensor.dim()}")
    with no_grad():
        tensor.zero_()
        tensor.diagonal().fill_(1.0)
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError(f"nn.init: expected 2 dimensions or more, outputs and inputs, got {tensor.dim()}")
    receptive_field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * receptive_field, tensor.shape[0] * receptive_field


def _fan(tensor, mode):
    fans = dict(zip(("fan_in", "fan_out"), _calculate_fan_in_and_fan_out(tensor)))
    if mode.lower() not in fans:
        raise ValueError(f"nn.init: expected mode to be one of {list(fans)}, got {mode!r}")
    return fans[mode.lower()]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform with the variance gain^2 * 2 / (fan_in + fan_out) (Glorot and Bengio 2010)."""
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal with the variance gain^2 * 2 / (fan_in + fan_out) (Glorot and Bengio 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform with the variance gain^2 / fan (He and others 2015)."""
    if 0 in tensor.shape:
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal with the variance gain^2 / fan (He and others 2015)."""
    if 0 in tensor.shape:
        return tensor
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


def dirac_(tensor, groups=1):
    """Convolutions that pass their input on: 1 at the kernels' centres, of as many channels as there are. 3 to 5
    dimensions.

    Raises ValueError for other numbers of dimensions, and where groups don't divide the first.
    """
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError(f"dirac_(): expected a tensor with 3, 4 or 5 dimensions, got {tensor.dim()}")
    if tensor.shape[0] % groups != 0:
        raise ValueError(f"dirac_(): expected groups that divide the first size, {tensor.shape[0]}, got {groups}")
    out = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(out, tensor.shape[1])):
                tensor[(group * out + channel, channel, *centre)] = 1.0
    return tensor


def orthogonal_(tensor, gain=1, generator=None):
    """Rows, or columns where there are fewer, that are orthonormal, times gain (Saxe and others 2013). The last
    dimensions count as one.

    Raises ValueError for fewer than two dimensions.
    """
    if tensor.ndimension() < 2:
        raise ValueError(f"orthogonal_(): expected a tensor with 2 dimensions or more, got {tensor.dim()}")
    if tensor.numel() == 0:
        return tensor
    from shunt.nn._orthogonal import orthonormal_columns

    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with no_grad():
        drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q = orthonormal_columns(drawn if rows >= columns else drawn.t())
        return tensor.copy_((q if rows >= columns else q.t()).reshape(tensor.shape)).mul_(gain)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal, with this part of each column set to 0 (Martens 2010). ValueError where there aren't two dimensions."""
    if tensor.ndimension() != 2:
        raise ValueError(f"sparse_(): expected a tensor with 2 dimensions, got {tensor.dim()}")
    from shunt import randperm

    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[randperm(rows, generator=generator, device=tensor.device)[:zeros], column] = 0
    return tensor


def __getattr__(name):
    import sys

    from shunt._near_names import no_name
    raise no_name(__name__, name, globals(), sys._getframe(1), __file__)
