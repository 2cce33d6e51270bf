"""Gradients kept within bounds."""

import math

from shunt._iterables import iterable_of
from shunt._tensor import Tensor
from shunt.autograd import no_grad


def _as_list(parameters, function, name="parameters"):
    if isinstance(parameters, Tensor):
        return [parameters]
    return list(iterable_of("Tensors", function, name, parameters))


@no_grad()
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors' elements together, a tensor of no dimensions."""
    from shunt import stack, zeros

    tensors = _as_list(tensors, "get_total_norm", "tensors")
    if not tensors:
        return zeros(())
    norm_type = float(norm_type)
    if math.isinf(norm_type):
        total = stack([t.abs().max() for t in tensors]).max()
    else:
        total = stack([t.norm(norm_type) for t in tensors]).norm(norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"get_total_norm(): expected a finite norm of order {norm_type}, got {total.item()}; "
            "error_if_nonfinite=False scales by it all the same"
        )
    return total


@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales the parameters' grads so that their norm together is at most max_norm; returns the norm before."""
    grads = [p.grad for p in _as_list(parameters, "clip_grad_norm_") if p.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite)
    _scale(grads, max_norm, total)
    return total


def _scale(grads, max_norm, total):
    factor = (float(max_norm) / (total + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)


@no_grad()
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales the parameters' grads as clip_grad_norm_() does where total_norm is their norm together."""
    _scale([p.grad for p in _as_list(parameters, "clip_grads_with_norm_") if p.grad is not None], max_norm, total_norm)


@no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Keeps each element of the parameters' grads within -clip_value and clip_value."""
    for p in _as_list(parameters, "clip_grad_value_"):
        if p.grad is not None:
            p.grad.clamp_(-float(clip_value), float(clip_value))
