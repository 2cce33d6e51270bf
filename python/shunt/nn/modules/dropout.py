"""Dropout: elements or channels that are zeroed at random while training."""

from shunt.nn import functional as F
from shunt.nn.functional.dropout import check_probability
from shunt.nn.modules.module import Module


class _Dropout(Module):
    _function = None

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        check_probability(type(self).__name__, p)
        self.p, self.inplace = p, inplace

    def forward(self, input):
        return getattr(F, self._function)(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Zeros elements with probability p while training, and scales the others by 1 / (1 - p)."""

    _function = "dropout"


class Dropout1d(_Dropout):
    """Dropout of whole channels. Input (N, C, L) or (C, L)."""

    _function = "dropout1d"


class Dropout2d(_Dropout):
    """Dropout of whole channels. Input (N, C, H, W)."""

    _function = "dropout2d"


class Dropout3d(_Dropout):
    """Dropout of whole channels. Input (N, C, D, H, W) or (C, D, H, W)."""

    _function = "dropout3d"


class AlphaDropout(_Dropout):
    """Dropout that keeps mean 0 and variance 1, for SELU (Klambauer and others 2017)."""

    _function = "alpha_dropout"


class FeatureAlphaDropout(_Dropout):
    """AlphaDropout of whole channels (dimension 1)."""

    _function = "feature_alpha_dropout"
