"""MultivariateNormal."""

import math

from shunt import _operators as ops
from shunt._composites import broadcast_shapes
from shunt.distributions import constraints
from shunt.distributions.distribution import Distribution
from shunt.distributions.utils import lazy_property
from shunt.linalg import cholesky, solve_triangular

__all__ = ["MultivariateNormal"]


def solved(triangle, right):
    """The solution x of triangle @ x = right, with the batches of both broadcast."""
    batch = broadcast_shapes(triangle.shape[:-2], right.shape[:-2])
    return solve_triangular(
        triangle.expand((*batch, *triangle.shape[-2:])), right.expand((*batch, *right.shape[-2:])), upper=False
    )


def mahalanobis(triangle, off):
    """The squared length of what `off` is by the covariance triangle @ triangle.mT."""
    return solved(triangle, off.unsqueeze(-1)).squeeze(-1).pow(2).sum(-1)


def half_log_det(triangle):
    """The sum of the logarithms of the diagonal."""
    return triangle.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _triangle_of_precision(precision):
    # The Cholesky factor of the inverse, from that of the matrix with both dimensions turned round.
    turned = cholesky(precision.flip((-2, -1)))
    inverse = turned.flip((-2, -1)).mT
    n = precision.shape[-1]
    return solve_triangular(
        inverse, ops.eye(n, dtype=precision.dtype, device=precision.device).expand(precision.shape), upper=False
    )


class MultivariateNormal(Distribution):
    """The normal distribution of vectors with mean `loc`.

    Args:
        covariance_matrix, precision_matrix, scale_tril: one of the covariance, its inverse, and its lower triangular
            factor; (..., n, n).
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("MultivariateNormal(): expected loc with 1 dimension or more, got 0")
        given = {
            name: m
            for name, m in (
                ("covariance_matrix", covariance_matrix),
                ("scale_tril", scale_tril),
                ("precision_matrix", precision_matrix),
            )
            if m is not None
        }
        if len(given) != 1:
            raise ValueError(
                "MultivariateNormal(): expected one of covariance_matrix, precision_matrix and scale_tril, got "
                f"{list(given)}"
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"MultivariateNormal(): expected {name} with 2 dimensions or more, got {matrix.dim()}")
        batch = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch + matrix.shape[-2:]))
        self.loc = loc.expand(batch + loc.shape[-1:])
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        # The factor that is computed with isn't repeated.
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _triangle_of_precision(matrix)

    def expand(self, batch_shape, _instance=None):
        names = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")
        new = self._expanded(MultivariateNormal, names, batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _whole(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        triangle = self._unbroadcasted_scale_tril
        return self._whole(triangle @ triangle.mT)

    @lazy_property
    def precision_matrix(self):
        triangle = self._unbroadcasted_scale_tril
        identity = ops.eye(triangle.shape[-1], dtype=triangle.dtype, device=triangle.device).expand(triangle.shape)
        inverse = solve_triangular(triangle, identity, upper=False)
        return self._whole(inverse.mT @ inverse)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=()):
        noise = ops.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value):
        self._checked(value)
        distance = mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det(
            self._unbroadcasted_scale_tril
        )

    def entropy(self):
        result = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det(
            self._unbroadcasted_scale_tril
        )
        return result.expand(self._batch_shape)
