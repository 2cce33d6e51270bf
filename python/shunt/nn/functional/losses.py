"""Losses. `reduction` is "mean", "sum", or "none" for a loss of each element; size_average and reduce are its older
spelling."""

import math

from shunt import _C
from shunt._autocast import by_policy
from shunt.nn.functional._common import ops, reduced, reduction_of
from shunt.nn.functional.distances import cosine_similarity_of, pairwise_distance


def _sizes_differ(name, input, target):
    """What is wrong where the target isn't of the input's shape."""
    return f"{name}(): expected target of shape {tuple(input.shape)}, as input is, got {tuple(target.shape)}"


def _check_same_size(name, input, target):
    if target.shape != input.shape:
        raise ValueError(_sizes_differ(name, input, target))


def _weighted(name, loss, weight, number):
    """A loss of each element times a weight of it; the mean is that of the weights' sum."""
    loss = loss * weight
    if number == 1:
        return loss.sum() / weight.expand_as(loss).sum()
    return reduced(loss, number)


@by_policy("weighted_loss")
def _elements(operator, input, target):
    """The loss of each element."""
    return operator(input, target, 0)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """|input - target|; `weight`, of its shape, weighs the elements."""
    number = reduction_of(reduction, size_average, reduce)
    if weight is not None:
        return _weighted("l1_loss", _elements(ops.l1_loss, input, target), weight, number)
    return ops.l1_loss(input, target, number)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """(input - target)^2; `weight`, of its shape, weighs the elements."""
    number = reduction_of(reduction, size_average, reduce)
    if target.shape != input.shape:
        if target.shape != input.shape:
            _C._warn(_sizes_differ("mse_loss", input, target) + "; they are broadcast")
    if weight is not None:
        return _weighted("mse_loss", _elements(ops.mse_loss, input, target), weight, number)
    return ops.mse_loss(input, target, number)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """0.5 * d^2 / beta where d = |input - target| < beta, else d - 0.5 * beta."""
    number = reduction_of(reduction, size_average, reduce)
    return ops.l1_loss(input, target, number) if beta == 0 else ops.smooth_l1_loss(input, target, number, beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """0.5 * d^2 where d = |input - target| <= delta, else delta * (d - 0.5 * delta)."""
    number = reduction_of(reduction)
    if weight is not None:
        return _weighted("huber_loss", ops.huber_loss(input, target, 0, delta), weight, number)
    return ops.huber_loss(input, target, number, delta)


def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    """-log softmax(input)[target], the classes in dimension 1 (0 of a vector).

    Args:
        target: indices of classes, of the input's shape without the classes; or probabilities, of the input's shape.
        weight: of each class.
        ignore_index: a target that counts for nothing.
        label_smoothing: how much of the target is spread over all classes, in [0, 1].
    """
    number = reduction_of(reduction, size_average, reduce)
    return ops.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """-input[target], where input are logarithms of probabilities, the classes in dimension 1 (0 of a vector)."""
    return ops.nll_loss_nd(input, target, weight, reduction_of(reduction, size_average, reduce), ignore_index)


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """cross_entropy of linear(input, linear_weight, linear_bias).

    Shapes: (N, in) or (in), weight (C, *, in), bias (C, *), targets (N, *) or, probabilities, (N, C, *). `options`
    choose how PyTorch
    computes it in parts, and change nothing here.
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"linear_cross_entropy(): expected input with 1 or 2 dimensions, got {input.dim()}")
    if linear_weight.dim() > 2 and input.dim() != 2:
        raise RuntimeError(
            f"linear_cross_entropy(): expected a batch (N, {linear_weight.size(-1)}) for linear_weight of shape "
            f"{tuple(linear_weight.shape)}, got input of shape {tuple(input.shape)}"
        )
    rows = linear_weight.reshape((-1, linear_weight.size(-1)))
    logits = ops.linear(input, rows, None if linear_bias is None else linear_bias.reshape((-1,)))
    if linear_weight.dim() > 2:
        logits = logits.reshape((*input.shape[:-1], *linear_weight.shape[:-1]))
    return cross_entropy(
        logits,
        target,
        weight,
        reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index,
        label_smoothing=label_smoothing,
    )


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log(target) - input), the terms of the Kullback-Leibler divergence; `reduction` may be "batchmean" as
    well.

    `input` are logarithms of probabilities, and `target`, too, with `log_target`.
    """
    if reduction == "mean" and size_average is None and reduce is None:
        _C._warn("kl_div(): reduction='mean' divides by the number of elements, not by that of distributions; the "
                 "divergence is that of reduction='batchmean'")
    batchmean = reduction == "batchmean" and size_average is None and reduce is None
    number = reduction_of("sum" if batchmean else reduction, size_average, reduce)
    loss = ops.kl_div(input, target, number, log_target=log_target)
    return loss / input.size(0) if batchmean and input.dim() > 0 else loss


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-(target * log(input) + (1 - target) * log(1 - input)), with logarithms of at least -100.

    Raises ValueError where the sizes differ, RuntimeError for an input outside [0, 1], which graphs of compiled
    functions don't look for.
    """
    number = reduction_of(reduction, size_average, reduce)
    _check_same_size("binary_cross_entropy", input, target)
    return ops.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """binary_cross_entropy of sigmoid(input), computed so that nothing overflows; `pos_weight` weighs the positive
    targets.

    Raises ValueError where the sizes differ.
    """
    number = reduction_of(reduction, size_average, reduce)
    _check_same_size("binary_cross_entropy_with_logits", input, target)
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


@by_policy("soft_margin_loss")
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input)), for targets 1 and -1."""
    number = reduction_of(reduction, size_average, reduce)
    return reduced(ops.log1p(ops.exp(-target * input)), number)


@by_policy("margin_ranking_loss")
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target * (input1 - input2) + margin)."""
    number = reduction_of(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss(): expected equally many dimensions in input1, input2 and target, got shapes "
            f"{tuple(input1.shape)}, {tuple(input2.shape)} and {tuple(target.shape)}"
        )
    return reduced(ops.clamp_min(-target * (input1 - input2) + margin, 0), number)


@by_policy("hinge_embedding_loss")
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where target is 1, max(0, margin - input) where it is -1."""
    number = reduction_of(reduction, size_average, reduce)
    zeros = ops.zeros_like(input)
    loss = ops.where(target != 1, ops.clamp_min(margin - input, 0), zeros) + ops.where(target != -1, input, zeros)
    return reduced(loss, number)


@by_policy("cosine_embedding_loss")
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos(input1, input2) where target is 1, max(0, cos(input1, input2) - margin) where it is -1, along the last
    dimension."""
    number = reduction_of(reduction, size_average, reduce)
    if target.dim() not in (0, 1):
        raise RuntimeError(f"cosine_embedding_loss(): expected target with 0 or 1 dimensions, got {target.dim()}")
    if not input1.dim() == input2.dim() == target.dim() + 1:
        raise RuntimeError(
            f"cosine_embedding_loss(): expected input1 and input2 with {target.dim() + 1} dimensions, one more than "
            f"target, got {input1.dim()} and {input2.dim()}"
        )
    cos = cosine_similarity_of(input1, input2, target.dim(), 1e-12)
    zeros = ops.zeros_like(cos)
    loss = ops.where(target == 1, 1 - cos, zeros) + ops.where(target == -1, ops.clamp_min(cos - margin, 0), zeros)
    return reduced(loss, number)


def _check_classes(name, input):
    if input.dim() > 2 or (input.dim() > 0 and input.size(-1) == 0):
        raise RuntimeError(f"{name}(): expected input (N, C) or (C) with one class or more, got {tuple(input.shape)}")


@by_policy("multi_margin_loss")
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes j other than the target of max(0, margin - input[target] + input[j])^p; `p` is 1 or 2."""
    number = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss(): expected p to be 1 or 2, got {p}")
    if weight is not None and weight.dim() != 1:
        raise ValueError(f"multi_margin_loss(): expected weight with 1 dimension, got {weight.dim()}")
    if input.dim() == 0:
        input = input.reshape((1,))
    _check_classes("multi_margin_loss", input)
    rows, targets = (input, target) if input.dim() == 2 else (input.unsqueeze(0), target.reshape(1))
    if targets.dim() != 1 or targets.numel() != rows.size(0):
        raise RuntimeError(
            f"multi_margin_loss(): expected target of {rows.size(0)} classes, one a sample, got {tuple(target.shape)}"
        )
    if weight is not None and weight.numel() != rows.size(1):
        raise RuntimeError(
            f"multi_margin_loss(): expected weight of {rows.size(1)} classes, got {tuple(weight.shape)}"
        )
    index = targets.unsqueeze(1)
    loss = ops.clamp_min(margin - rows.gather(1, index) + rows, 0)
    if p == 2:
        loss = loss * loss
    if weight is not None:
        loss = loss * weight.index_select(0, targets).unsqueeze(1)
    columns = ops.arange(rows.size(1), device=rows.device).unsqueeze(0)
    loss = ops.masked_fill(loss, columns == index, 0).sum(1) / rows.size(1)
    return reduced(loss if input.dim() == 2 or number != 0 else loss.squeeze(0), number)


@by_policy("multilabel_margin_loss")
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The sum over targets and other classes of max(0, 1 - input[target] + input[other]), divided by the number of
    classes.

    Shapes: (N, C) or (C), both; `target` has the classes of a sample, ended by -1.
    """
    number = reduction_of(reduction, size_average, reduce)
    _check_classes("multilabel_margin_loss", input)
    if target.shape != input.shape and not (input.dim() <= 1 and target.numel() == input.numel()):
        raise RuntimeError(_sizes_differ("multilabel_margin_loss", input, target))
    rows, targets = (x if x.dim() == 2 else x.reshape((1, -1)) for x in (input, target))
    n, classes = rows.shape
    counts = ops.cumprod((targets >= 0).to(targets.dtype), 1) != 0
    places = ops.masked_fill(targets, counts.logical_not(), classes)
    named = targets.new_zeros((n, classes + 1)).scatter_(1, places, 1)[:, :classes] != 0
    chosen = rows.gather(1, ops.masked_fill(targets, counts.logical_not(), 0))
    loss = ops.clamp_min(1 - chosen.unsqueeze(2) + rows.unsqueeze(1), 0)
    pairs = counts.unsqueeze(2) & named.logical_not().unsqueeze(1)
    loss = ops.where(pairs, loss, ops.zeros_like(loss)).sum((1, 2)) / classes
    return reduced(loss if input.dim() == 2 or number != 0 else loss.squeeze(0), number)


@by_policy("multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over the last dimension of -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))."""
    number = reduction_of(reduction, size_average, reduce)
    loss = ops.binary_cross_entropy_with_logits(input, target.to(input.dtype), None, None, 0)
    if weight is not None:
        loss = loss * weight
    return reduced(loss.sum(-1) / input.size(-1), number)


@by_policy("poisson_nll_loss")
def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
):
    """exp(input) - target * input, or input - target * log(input + eps) without `log_input`; with `full` Stirling's
    term is added."""
    number = reduction_of(reduction, size_average, reduce)
    loss = ops.exp(input) - target * input if log_input else input - target * ops.log(input + eps)
    if full:
        stirling = target * ops.log(target) - target + 0.5 * ops.log(2 * math.pi * target)
        loss = loss + ops.masked_fill(stirling, target <= 1, 0)
    return reduced(loss, number)


_NEGATIVE = "gaussian_nll_loss(): expected variances of at least 0 in var, got a negative one"


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """0.5 * (log(var) + (input - target)^2 / var), where var is at least `eps`; with `full` the constant is added.

    `var`: a number, or a tensor of the input's shape, of the shape without the last dimension, or with 1 there.
    ValueError otherwise,
    and where it is negative, which graphs of compiled functions don't look for.
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError(_NEGATIVE)
        var = var * ops.ones_like(input)
    elif not _C._is_recording() and bool((var < 0).any()):
        raise ValueError(_NEGATIVE)
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif not (input.shape[:-1] == var.shape[:-1] and var.shape[-1] == 1) and not (
            input.dim() == var.dim() and all(v in (1, i) for v, i in zip(var.shape, input.shape))
        ):
            raise ValueError(
                f"gaussian_nll_loss(): expected var of input's shape {tuple(input.shape)}, or with one number for each "
                f"row, got {tuple(var.shape)}"
            )
    number = reduction_of(reduction)
    # The gradient passes by the clamp.
    bounded = var.clone()
    with _no_grad():
        bounded.clamp_min_(eps)
    loss = 0.5 * (ops.log(bounded) + (input - target) ** 2 / bounded)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, number)


def _no_grad():
    from shunt.autograd import no_grad

    return no_grad()


def _check_triplet(name, margin, anchor, positive, negative):
    if margin <= 0:
        raise ValueError(f"{name}(): expected margin greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            f"{name}(): expected equally many dimensions in anchor, positive and negative, got {anchor.dim()}, "
            f"{positive.dim()} and {negative.dim()}"
        )


@by_policy("triplet_margin_loss")
def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), where d is pairwise_distance; with `swap` the
    smaller of the two
    distances to the negative counts. ValueError for a margin of 0 or less."""
    number = reduction_of(reduction, size_average, reduce)
    _check_triplet("triplet_margin_loss", margin, anchor, positive, negative)
    return _triplet(lambda x, y: pairwise_distance(x, y, p, eps), anchor, positive, negative, margin, swap, number)


def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """triplet_margin_loss with a function of two tensors for the distance."""
    number = reduction_of(reduction)
    _check_triplet("triplet_margin_with_distance_loss", margin, anchor, positive, negative)
    return _triplet(distance_function or pairwise_distance, anchor, positive, negative, margin, swap, number)


def _triplet(distance, anchor, positive, negative, margin, swap, number):
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return reduced(ops.clamp_min(margin + near - far, 0), number)
