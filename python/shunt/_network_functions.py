"""What PyTorch has of nn.functional at its top level, with the parameters that its operators have: reductions are
numbers (0: none, 1: the mean, 2: the sum), and functions in place have names of their own.

The number is 0 where none is given, as it is in PyTorch, whose schemas say 1 (the mean).
"""

from shunt._composites._common import ops
from shunt.nn import functional as F

_REDUCTIONS = ("none", "mean", "sum")
_INTERPOLATIONS = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _reduction(name, number):
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{name}(): argument 'reduction' must be int, not {type(number).__name__}")
    return _REDUCTIONS[number] if 0 <= number <= 2 else "none"


adaptive_avg_pool1d = F.adaptive_avg_pool1d
avg_pool1d = F.avg_pool1d
bilinear = F.bilinear
channel_shuffle = native_channel_shuffle = F.channel_shuffle
conv3d = F.conv3d
conv_transpose3d = F.conv_transpose3d
hardshrink = F.hardshrink
pairwise_distance = F.pairwise_distance
prelu = F.prelu


def celu(input, alpha=1.0):
    """nn.functional.celu()."""
    return F.celu(input, alpha)


def celu_(input, alpha=1.0):
    """celu() in place."""
    return F.celu(input, alpha, inplace=True)


def selu(input):
    """nn.functional.selu()."""
    return F.selu(input)


def selu_(input):
    """selu() in place."""
    return F.selu(input, inplace=True)


def _rrelu(input, lower, upper, training, generator, inplace):
    if generator is None or not training:
        return F.rrelu(input, lower, upper, training, inplace)
    if lower > upper:
        raise RuntimeError(f"rrelu(): lower: expected at most upper, {upper}, got {lower}")
    slope = ops.empty_like(input).uniform_(lower, upper, generator=generator)
    result = ops.where(input >= 0, input, slope * input)
    return input.copy_(result) if inplace else result


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """nn.functional.rrelu(), with a generator."""
    return _rrelu(input, lower, upper, training, generator, False)


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """rrelu() in place."""
    return _rrelu(input, lower, upper, training, generator, True)


def adaptive_max_pool1d(input, output_size):
    """nn.functional.adaptive_max_pool1d() with the places: a pair."""
    return F.adaptive_max_pool1d(input, output_size, return_indices=True)


def max_pool3d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """nn.functional.max_pool3d()."""
    return F.max_pool3d(input, kernel_size, stride or None, padding, dilation, ceil_mode)


def max_pool1d_with_indices(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """nn.functional.max_pool1d() with the places: a pair."""
    return F.max_pool1d(input, kernel_size, stride or None, padding, dilation, ceil_mode, return_indices=True)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False):
    """nn.functional.ctc_loss(); `reduction` is a number."""
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction("ctc_loss", reduction),
                      zero_infinity)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=0):
    """nn.functional.triplet_margin_loss(); `reduction` is a number."""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap,
                                 reduction=_reduction("triplet_margin_loss", reduction))


def hinge_embedding_loss(input, target, margin=1.0, reduction=0):
    """nn.functional.hinge_embedding_loss(); `reduction` is a number."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_reduction("hinge_embedding_loss", reduction))


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=0):
    """nn.functional.cosine_embedding_loss(); `reduction` is a number."""
    return F.cosine_embedding_loss(input1, input2, target, margin,
                                   reduction=_reduction("cosine_embedding_loss", reduction))


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=0):
    """nn.functional.margin_ranking_loss(); `reduction` is a number."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction("margin_ranking_loss", reduction))


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """nn.functional.poisson_nll_loss(); `reduction` is a number, and nothing has a default."""
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps,
                              reduction=_reduction("poisson_nll_loss", reduction))


def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """nn.functional.instance_norm(), whose statistics come after the weights here. `cudnn_enabled` changes nothing."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def dropout_(input, p, train):
    """nn.functional.dropout() in place."""
    return F.dropout(input, p, train, inplace=True)


def alpha_dropout(input, p, train):
    """nn.functional.alpha_dropout()."""
    return F.alpha_dropout(input, p, train)


def alpha_dropout_(input, p, train):
    """alpha_dropout() in place."""
    return F.alpha_dropout(input, p, train, inplace=True)


def feature_dropout(input, p, train):
    """nn.functional.dropout2d(), of images of any dimensions."""
    return F.dropout2d(input, p, train)


def feature_dropout_(input, p, train):
    """feature_dropout() in place."""
    return F.dropout2d(input, p, train, inplace=True)


def feature_alpha_dropout(input, p, train):
    """nn.functional.feature_alpha_dropout()."""
    return F.feature_alpha_dropout(input, p, train)


def feature_alpha_dropout_(input, p, train):
    """feature_alpha_dropout() in place."""
    return F.feature_alpha_dropout(input, p, train, inplace=True)


def constant_pad_nd(input, pad, value=0):
    """nn.functional.pad() with a number."""
    return F.pad(input, pad, value=value)


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """nn.functional.grid_sample(), with numbers for the modes: bilinear, nearest, bicubic; zeros, border,
    reflection."""
    return F.grid_sample(input, grid, _INTERPOLATIONS[interpolation_mode], _PADDINGS[padding_mode], align_corners)


def affine_grid_generator(theta, size, align_corners):
    """nn.functional.affine_grid()."""
    return F.affine_grid(theta, size, align_corners)


def norm_except_dim(v, pow=2, dim=0):
    """The `pow`-norms over all dimensions but `dim`, which are kept with size 1; with -1 the norm of all elements."""
    if dim == -1:
        return v.norm(pow)
    return v.norm(pow, tuple(d for d in range(v.dim()) if d != dim % v.dim()), True)
