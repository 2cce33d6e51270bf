"""Losses: a module for each of nn.functional's."""

from shunt.nn import functional as F
from shunt.nn.modules.module import Module


class _Loss(Module):
    """Calls a function of two tensors with the settings that the constructor was given."""

    _function = None
    _settings = {}  # name: default, after size_average and reduce, which PyTorch has given up
    _weights = ()  # settings that are tensors: buffers

    def __init__(self, *args, **kwargs):
        super().__init__()
        names = [*self._weights, *self._settings]
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__}() takes at most {len(names)} arguments, got {len(args)}")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name in ("size_average", "reduce") and value is None:
                continue
            if name not in names:
                raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument '{name}'")
            if name in given:
                raise TypeError(f"{type(self).__name__}() got multiple values for argument '{name}'")
            given[name] = value
        for name in self._weights:
            self.register_buffer(name, given.get(name))
        for name, default in self._settings.items():
            setattr(self, name, given.get(name, default))

    def forward(self, input, target):
        return getattr(F, self._function)(input, target, **{name: getattr(self, name) for name in (*self._weights, *self._settings)})


def _loss(name, function, doc, weights=(), **settings):
    return type(name, (_Loss,), {"_function": function, "_settings": settings, "_weights": weights, "__doc__": doc,
                                 "__module__": "shunt.nn"})


_REDUCTION = " reduction: 'mean', 'sum' or 'none'."
MSELoss = _loss("MSELoss", "mse_loss", "(input - target)^2." + _REDUCTION, reduction="mean")
L1Loss = _loss("L1Loss", "l1_loss", "|input - target|." + _REDUCTION, reduction="mean")
SmoothL1Loss = _loss("SmoothL1Loss", "smooth_l1_loss", "Squared below beta, absolute above (Girshick 2015)." + _REDUCTION,
                     reduction="mean", beta=1.0)
HuberLoss = _loss("HuberLoss", "huber_loss", "Squared below delta, delta times the distance above." + _REDUCTION, reduction="mean", delta=1.0)
NLLLoss = _loss("NLLLoss", "nll_loss", "-input[target], of log-probabilities (N, C, ...) and classes (N, ...)." + _REDUCTION,
                ("weight",), ignore_index=-100, reduction="mean")
CrossEntropyLoss = _loss("CrossEntropyLoss", "cross_entropy",
                         "-log_softmax(input)[target], of scores (N, C, ...) and classes (N, ...) or probabilities." + _REDUCTION,
                         ("weight",), ignore_index=-100, reduction="mean", label_smoothing=0.0)
BCELoss = _loss("BCELoss", "binary_cross_entropy", "The cross entropy of probabilities and targets between 0 and 1." + _REDUCTION,
                ("weight",), reduction="mean")
BCEWithLogitsLoss = _loss("BCEWithLogitsLoss", "binary_cross_entropy_with_logits",
                          "The cross entropy of sigmoid(input) and targets between 0 and 1." + _REDUCTION, ("weight", "pos_weight"),
                          reduction="mean")
KLDivLoss = _loss("KLDivLoss", "kl_div", "target * (log(target) - input), of log-probabilities." + _REDUCTION, reduction="mean",
                  log_target=False)


def _init_bce_with_logits(self, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    _Loss.__init__(self, weight, pos_weight, reduction=reduction)


BCEWithLogitsLoss.__init__ = _init_bce_with_logits
