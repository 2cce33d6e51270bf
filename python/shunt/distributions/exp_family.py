"""ExponentialFamily: distributions whose entropy follows from their normalizer."""

from shunt import autograd
from shunt.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Base of distributions with a density exp(<t(x), natural parameters> - log normalizer + k(x)). A derived class
    that defines _natural_params, _log_normalizer(*natural_params) and _mean_carrier_measure, the mean of k, has an
    entropy.
    """

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def entropy(self):
        """By the normalizer's gradient, which is the mean of t (Bregman divergence; Nielsen and Nock 2010)."""
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        gradients = autograd.grad(normalizer.sum(), parameters, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for p, g in zip(parameters, gradients):
            result = result - (p * g).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
