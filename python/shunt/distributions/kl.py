"""kl_divergence, and its formulas by pairs of classes."""

import math
from functools import total_ordering

from shunt import _operators as ops
from shunt.distributions.bernoulli import Bernoulli
from shunt.distributions.binomial import Binomial
from shunt.distributions.categorical import Categorical
from shunt.distributions.cauchy import Cauchy
from shunt.distributions.distribution import Distribution
from shunt.distributions.exponential import Exponential
from shunt.distributions.geometric import Geometric
from shunt.distributions.gumbel import Gumbel
from shunt.distributions.half_normal import HalfNormal
from shunt.distributions.independent import Independent
from shunt.distributions.laplace import Laplace
from shunt.distributions.multivariate_normal import MultivariateNormal
from shunt.distributions.normal import Normal
from shunt.distributions.one_hot_categorical import OneHotCategorical
from shunt.distributions.pareto import Pareto
from shunt.distributions.poisson import Poisson
from shunt.distributions.transformed_distribution import TransformedDistribution
from shunt.distributions.uniform import Uniform
from shunt.distributions.utils import sum_rightmost
from shunt.nn.functional import softplus

__all__ = ["kl_divergence", "register_kl"]

_FORMULAS = {}
_found = {}  # what _find() has found by now
_EULER = 0.57721566490153286060


def register_kl(type_p, type_q):
    """A decorator: the function, of p and q, is the divergence of these classes, and of classes derived from them."""
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"register_kl(): expected {name} to be a class derived from Distribution, got {kind}")

    def decorator(function):
        _FORMULAS[type_p, type_q] = function
        _found.clear()
        return function

    return decorator


@total_ordering
class _Pair:
    """Two classes, less than a pair that both are derived from."""

    def __init__(self, *types):
        self.types = types

    def __eq__(self, other):
        return self.types == other.types

    def __le__(self, other):
        for a, b in zip(self.types, other.types):
            if a is not b:
                return issubclass(a, b)
        return True


def _find(type_p, type_q):
    fitting = [pair for pair in _FORMULAS if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not fitting:
        return None
    # The closest class of p decides before that of q.
    return _FORMULAS[min(_Pair(*pair) for pair in fitting).types]


def kl_divergence(p, q):
    """The Kullback-Leibler divergence, the mean over p of log(p / q); of their batch shape.

    NotImplementedError for pairs of classes that have no formula.
    """
    key = type(p), type(q)
    if key not in _found:
        _found[key] = _find(*key)
    if _found[key] is None:
        raise NotImplementedError(
            f"kl_divergence(): no formula for {type(p).__name__} and {type(q).__name__}; register_kl() adds one"
        )
    return _found[key](p, q)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p, q):
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = ops.where(q.probs == 0, math.inf, one)
    one = ops.where(p.probs == 0, 0.0, one)
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zero = ops.where(q.probs == 1, math.inf, zero)
    zero = ops.where(p.probs == 1, 0.0, zero)
    return one + zero


@register_kl(Binomial, Binomial)
def _binomial_binomial(p, q):
    # For equal counts; a larger one of p has values that q hasn't, and a smaller one no closed form.
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError(
            "kl_divergence(): expected a total_count of p at least that of q, got a smaller one, for which there is no "
            "closed form"
        )
    result = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return ops.where(p.total_count > q.total_count, math.inf, result)


@register_kl(Categorical, Categorical)
def _categorical_categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    t = ops.where(q.probs == 0, math.inf, t)
    t = ops.where(p.probs == 0, 0.0, t)
    return t.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_one_hot(p, q):
    return _categorical_categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _cauchy_cauchy(p, q):
    apart = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return apart - (4 * p.scale * q.scale).log()


@register_kl(Exponential, Exponential)
def _exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Geometric, Geometric)
def _geometric_geometric(p, q):
    return -p.entropy() - ops.log1p(-q.probs) / p.probs + ops.log1p(-q.probs) - q.probs.log()


@register_kl(Gumbel, Gumbel)
def _gumbel_gumbel(p, q):
    ratio = p.scale / q.scale
    p_loc, q_loc = p.loc / q.scale, q.loc / q.scale
    gamma = ops.exp(q_loc - p_loc + ops.lgamma(1 + ratio))
    return -ratio.log() - q_loc + p_loc + ratio * _EULER + gamma - (1 + _EULER)


@register_kl(HalfNormal, HalfNormal)
def _half_normal_half_normal(p, q):
    return _normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace_laplace(p, q):
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * ops.exp(-apart / p.scale) - 1


@register_kl(Normal, Normal)
def _normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    apart = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + apart - 1 - ratio.log())


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_multivariate(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"kl_divergence(): expected event shapes to agree, got {tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )
    from shunt.distributions.multivariate_normal import half_log_det, mahalanobis, solved

    ratio = solved(q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril).pow(2).sum((-2, -1))
    apart = mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    logs = half_log_det(q._unbroadcasted_scale_tril) - half_log_det(p._unbroadcasted_scale_tril)
    return logs + 0.5 * (ratio + apart - p.event_shape[0])


@register_kl(Pareto, Pareto)
def _pareto_pareto(p, q):
    ratio = p.scale / q.scale
    alpha = q.alpha / p.alpha
    result = q.alpha * ratio.log() - alpha.log() + alpha - 1
    return ops.where(p.scale < q.scale, math.inf, result)


@register_kl(Poisson, Poisson)
def _poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return ops.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p, q):
    spread = p.rate * q.scale
    apart = q.loc / q.scale
    return spread.log() - 1 - apart + spread.reciprocal() + ops.exp(apart) * spread / (spread + 1)


@register_kl(Exponential, Normal)
def _exponential_normal(p, q):
    variance = q.scale.pow(2)
    rate_squared = p.rate.pow(2)
    return (
        0.5 * ops.log(rate_squared * variance * 2 * math.pi)
        - 1
        + (rate_squared.reciprocal() - q.loc / p.rate + q.loc.pow(2) / 2) / variance
    )


@register_kl(Laplace, Normal)
def _laplace_normal(p, q):
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    return -0.5 * ops.log(2 * ratio / math.pi) + ratio + 0.5 * (p.loc - q.loc).pow(2) / variance - 1


@register_kl(Normal, Gumbel)
def _normal_gumbel(p, q):
    ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return apart + ops.exp(0.5 * ratio.pow(2) - apart) - ratio.log() - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Gumbel, Normal)
def _gumbel_normal(p, q):
    square = (math.pi**2 / 6) * p.scale.pow(2) + (p.loc + p.scale * _EULER - q.loc).pow(
        2
    )  # the mean of (x - q.loc) ** 2
    return q.scale.log() + 0.5 * math.log(2 * math.pi) + 0.5 * square / q.scale.pow(2) - p.entropy()


@register_kl(Normal, Laplace)
def _normal_laplace(p, q):
    apart = (p.loc - q.loc) / p.scale
    mean_distance = p.scale * (
        math.sqrt(2 / math.pi) * ops.exp(-0.5 * apart.pow(2)) + apart * ops.erf(math.sqrt(0.5) * apart)
    )
    return ops.log(2 * q.scale) + mean_distance / q.scale - (ops.log(p.scale) + 0.5 * math.log(2 * math.pi) + 0.5)


@register_kl(Uniform, Normal)
def _uniform_normal(p, q):
    width = p.high - p.low
    square = width.pow(2) / 12 + ((p.high + p.low) / 2 - q.loc).pow(2)  # the mean of (x - q.loc) ** 2
    return ops.log(math.sqrt(math.pi * 2) * q.scale / width) + 0.5 * square / q.scale.pow(2)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p, q):
    width = q.scale / (p.high - p.low)
    low, high = (p.low - q.loc) / q.scale, (p.high - q.loc) / q.scale
    return width.log() + 0.5 * (high + low) - width * (ops.exp(-high) - ops.exp(-low))


@register_kl(Uniform, Exponential)
def _uniform_exponential(p, q):
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return ops.where(p.low < 0, math.inf, result)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p, q):
    width = p.high - p.low
    mean_log = (p.high.xlogy(p.high) - p.low.xlogy(p.low) - width) / width
    result = mean_log * (q.alpha + 1) - q.alpha.log() - q.scale.log() * q.alpha - width.log()
    return ops.where(p.low < q.scale, math.inf, result)


@register_kl(Exponential, Pareto)
@register_kl(Exponential, Uniform)
@register_kl(Gumbel, Pareto)
@register_kl(Gumbel, Uniform)
@register_kl(Gumbel, Exponential)
@register_kl(Laplace, Exponential)
@register_kl(Laplace, Pareto)
@register_kl(Laplace, Uniform)
@register_kl(Normal, Exponential)
@register_kl(Normal, Pareto)
@register_kl(Normal, Uniform)
@register_kl(Pareto, Uniform)
@register_kl(Poisson, Bernoulli)
@register_kl(Poisson, Binomial)
def _not_within(p, q):
    # q gives no probability to values that p has.
    return ops.full_like(getattr(p, next(iter(p.arg_constraints))), math.inf)


@register_kl(Pareto, Exponential)
def _pareto_exponential(p, q):
    scaled = p.scale * q.rate
    result = (p.alpha / scaled).log() - p.alpha.reciprocal() + p.alpha * scaled / (p.alpha - 1) - 1
    return ops.where(p.alpha <= 1, math.inf, result)


@register_kl(Pareto, Normal)
def _pareto_normal(p, q):
    mean = p.alpha * p.scale / (p.alpha - 1)
    of_square = p.alpha * p.scale.pow(2) / (p.alpha - 2)
    square = of_square - 2 * mean * q.loc + q.loc.pow(2)  # the mean of (x - q.loc) ** 2
    entropy = (p.scale / p.alpha).log() + 1 + p.alpha.reciprocal()
    result = q.scale.log() + 0.5 * math.log(2 * math.pi) + 0.5 * square / q.scale.pow(2) - entropy
    return ops.where(p.alpha <= 2, math.inf, result)
