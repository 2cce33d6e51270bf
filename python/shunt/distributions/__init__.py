"""Probability distributions: samples, with gradients where they have them, and logarithms of densities."""

from shunt.distributions import constraints
from shunt.distributions.bernoulli import Bernoulli
from shunt.distributions.binomial import Binomial
from shunt.distributions.categorical import Categorical
from shunt.distributions.cauchy import Cauchy
from shunt.distributions.constraint_registry import biject_to, transform_to
from shunt.distributions.distribution import Distribution
from shunt.distributions.exp_family import ExponentialFamily
from shunt.distributions.exponential import Exponential
from shunt.distributions.geometric import Geometric
from shunt.distributions.gumbel import Gumbel
from shunt.distributions.half_cauchy import HalfCauchy
from shunt.distributions.half_normal import HalfNormal
from shunt.distributions.independent import Independent
from shunt.distributions.kl import kl_divergence, register_kl
from shunt.distributions.laplace import Laplace
from shunt.distributions.log_normal import LogNormal
from shunt.distributions.mixture_same_family import MixtureSameFamily
from shunt.distributions.multinomial import Multinomial
from shunt.distributions.multivariate_normal import MultivariateNormal
from shunt.distributions.normal import Normal
from shunt.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from shunt.distributions.pareto import Pareto
from shunt.distributions.poisson import Poisson
from shunt.distributions.relaxed_bernoulli import RelaxedBernoulli
from shunt.distributions.relaxed_categorical import RelaxedOneHotCategorical
from shunt.distributions.transformed_distribution import TransformedDistribution
from shunt.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from shunt.distributions.uniform import Uniform
from shunt.distributions.weibull import Weibull

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Binomial",
    "Categorical",
    "Cauchy",
    "ComposeTransform",
    "CumulativeDistributionTransform",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "Laplace",
    "LogNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "Weibull",
    "biject_to",
    "constraints",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
]


def __getattr__(name):
    import sys

    from shunt._near_names import no_name
    raise no_name(__name__, name, globals(), sys._getframe(1), __file__)
