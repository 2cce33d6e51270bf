"""Distributions that take probabilities or logits."""

from shunt.distributions.utils import lazy_property, logits_to_probs, probs_to_logits


def check_one(probs, logits):
    """ValueError unless one of them is given."""
    if (probs is None) == (logits is None):
        raise ValueError(f"expected one of probs and logits, got {'none' if probs is None else 'both'}")


class WithLogits:
    """Has the one of `probs` and `logits` that wasn't given follow from the other, for `_binary` or several values."""

    _binary = True

    @lazy_property
    def logits(self):
        """The log odds, or the normalized logarithms of the probabilities."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self):
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    @property
    def _param(self):
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.__dict__["logits"]

    @property
    def param_shape(self):
        """The shape of probabilities or logits."""
        return self._param.size()
