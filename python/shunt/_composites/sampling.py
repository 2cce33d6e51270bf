"""Random draws that are made of uniform, normal and integer ones."""

import math

from shunt import _C
from shunt._composites._common import check_tensors, method, ops


def _uniform(like, generator, size=None):
    """Numbers from [0, 1), none of them 0 where `1 - u` is taken."""
    size = like.shape if size is None else size
    return ops.rand(size, dtype=like.dtype, device=like.device, generator=generator)


def _check_floating(name, x):
    if not x.is_floating_point():
        raise NotImplementedError(f"{name}(): not implemented for {x.dtype}; expected a floating-point dtype")


@method
def exponential_(input, lambd=1.0, *, generator=None):
    """Fills the tensor with draws of the exponential distribution of mean 1 / lambd."""
    _check_floating("exponential_", input)
    if lambd <= 0:
        raise RuntimeError(f"exponential_(): expected lambd greater than 0, got {lambd}")
    return input.copy_(ops.log1p(-_uniform(input, generator)) / -lambd)


@method
def geometric_(input, p, *, generator=None):
    """Fills the tensor with how many trials there are until one, of probability p, succeeds: 1, 2, ..."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_(): expected p between 0 and 1, both excluded, got {p}")
    u = ops.rand(input.shape, dtype=_C.float64, device=input.device, generator=generator)
    return input.copy_((ops.log1p(-u) / math.log1p(-p)).ceil().clamp(min=1))


@method
def cauchy_(input, median=0, sigma=1, *, generator=None):
    """Fills the tensor with draws of the Cauchy distribution."""
    _check_floating("cauchy_", input)
    if sigma <= 0:
        raise RuntimeError(f"cauchy_(): expected sigma greater than 0, got {sigma}")
    u = ops.rand(input.shape, dtype=_C.float64, device=input.device, generator=generator)
    return input.copy_(((u - 0.5) * math.pi).tan() * sigma + median)


@method
def log_normal_(input, mean=1, std=2, *, generator=None):
    """Fills the tensor with draws whose logarithms are normal, of this mean and standard deviation."""
    _check_floating("log_normal_", input)
    if std <= 0:
        raise RuntimeError(f"log_normal_(): expected std greater than 0, got {std}")
    noise = ops.randn(input.shape, dtype=input.dtype, device=input.device, generator=generator)
    return input.copy_((noise * std + mean).exp())


# The mean from which Hörmann's methods are exact and quick; below, a step for each event does.
_FEW = 10


def _few_poisson(rate, generator):
    """Counts how many uniform factors keep a product above exp(-rate) (Knuth)."""
    limit, product, count = ops.exp(-rate), ops.ones_like(rate), -ops.ones_like(rate)
    while bool((product > limit).any()) or bool((count < 0).any()):
        alive = product > limit
        product = ops.where(alive, product * (1 - _uniform(rate, generator)), product)
        count = count + alive.to(count.dtype)
        if not bool((product > limit).any()):
            break
    return count.clamp(min=0)


def _many_poisson(rate, generator):
    """Transformed rejection with squeeze (Hörmann 1993)."""
    root = rate.sqrt()
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    result, left = ops.zeros_like(rate), ops.ones_like(rate, dtype=_C.bool)
    while bool(left.any()):
        u, v = _uniform(rate, generator) - 0.5, 1 - _uniform(rate, generator)
        us = 0.5 - u.abs()
        k = ((2 * a / us + b) * u + rate + 0.43).floor()
        quick = (us >= 0.07) & (v <= v_r)
        possible = (k >= 0) & ~((us < 0.013) & (v > us))
        density = k * rate.log() - rate - ops.lgamma(k.clamp(min=0) + 1)
        accepted = quick | (possible & (v.log() + inverse_alpha.log() - (a / (us * us) + b).log() <= density))
        result = ops.where(left & accepted, k, result)
        left = left & ~accepted
    return result


def poisson(input, generator=None):
    """Counts, drawn of the Poisson distributions with the rates in `input`; of its shape and dtype."""
    check_tensors("poisson", input=input)
    _check_floating("poisson", input)
    rate = input.detach().to(_C.float64)
    if bool((~(rate >= 0)).any()):
        raise RuntimeError("poisson(): expected a non-negative rate in each element, got another")
    few = _few_poisson(rate.clamp(max=_FEW), generator)
    if bool((rate > _FEW).any()):
        few = ops.where(rate > _FEW, _many_poisson(rate.clamp(min=_FEW), generator), few)
    return few.to(input.dtype)


def _few_binomial(count, prob, generator):
    """Adds the distances between successes, which are geometric: each step takes one success, or the end, of every
    element."""
    scale = ops.log1p(-prob)
    used, successes = ops.zeros_like(count), -ops.ones_like(count)
    active = ops.ones_like(count, dtype=_C.bool)
    while bool(active.any()):
        step = (ops.log1p(-_uniform(count, generator)) / scale).floor() + 1
        step = ops.where(prob == 0, ops.full_like(step, math.inf), step)
        used = ops.where(active, used + step, used)
        successes = successes + active.to(successes.dtype)
        active = used <= count
    return successes


def _stirling_rest(k):
    """log(k!) less (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2, for whole numbers."""
    x = k + 1
    square = 1 / (x * x)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x
    near = x.clamp(max=_FEW)
    exact = ops.lgamma(near) - ((near - 0.5) * near.log() - near + 0.5 * math.log(2 * math.pi))
    return ops.where(x > _FEW, series, exact)


def _many_binomial(n, p, generator):
    """Transformed rejection with squeeze (Hörmann 1993), for p up to 1/2 and means from 10."""
    odds, root = p / (1 - p), (n * p * (1 - p)).sqrt()
    b = 1.15 + 2.53 * root
    a = -0.0873 + 0.0248 * b + 0.01 * p
    v_r, alpha = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * root
    mode = ((n + 1) * p).floor()
    at_mode = (mode + 0.5) * ((mode + 1) / (odds * (n - mode + 1))).log()
    at_mode = at_mode + _stirling_rest(mode) + _stirling_rest(n - mode)
    result, left = ops.zeros_like(n), ops.ones_like(n, dtype=_C.bool)
    while bool(left.any()):
        u, v = _uniform(n, generator) - 0.5, 1 - _uniform(n, generator)
        us = 0.5 - u.abs()
        drawn = ((2 * a / us + b) * u + n * p + 0.5).floor()
        possible = (drawn >= 0) & (drawn <= n)
        k = ops.where(possible, drawn, mode)
        density = at_mode + (n + 1) * ((k - mode) / (n - k + 1)).log1p()
        density = density + (k + 0.5) * (odds * (n - k + 1) / (k + 1)).log() - _stirling_rest(k) - _stirling_rest(n - k)
        quick = (us >= 0.07) & (v <= v_r)
        accepted = possible & (quick | ((v * alpha / (a / (us * us) + b)).log() <= density))
        result = ops.where(left & accepted, k, result)
        left = left & ~accepted
    return result


def binomial(count, prob, generator=None):
    """How many of `count` trials succeed, each with probability `prob`; of their common shape, and prob's dtype."""
    from shunt._composites.shapes import broadcast_tensors

    check_tensors("binomial", count=count, prob=prob)
    if count.dtype is not prob.dtype or not count.is_floating_point():
        raise ValueError(
            f"binomial(): count and prob have to be of one floating-point dtype, got {count.dtype} and {prob.dtype}"
        )
    dtype = prob.dtype
    count, prob = broadcast_tensors(count.detach().to(_C.float64), prob.detach().to(_C.float64))
    count = count.floor()
    if bool((~(count >= 0) | ~((prob >= 0) & (prob <= 1))).any()):
        raise RuntimeError("binomial(): expected counts from 0, and probabilities from 0 to 1")
    rarer = ops.minimum(prob, 1 - prob)
    endless, mean = count.isinf(), count * rarer
    many = ~endless & (mean >= _FEW)
    successes = _few_binomial(count.masked_fill(many | endless, 0), rarer, generator)
    if bool(many.any()):
        # The others take part with numbers for which the method is right, and as quick.
        n, p = ops.where(many, count, 4 * _FEW), ops.where(many, rarer, 0.5)
        successes = ops.where(many, _many_binomial(n, p, generator), successes)
    successes = ops.where(prob > 0.5, count - successes, successes)
    return ops.where(endless & (prob > 0), count, successes).to(dtype)
