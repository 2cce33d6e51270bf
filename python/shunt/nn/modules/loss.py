"""Losses: a module for each of nn.functional's."""

import math

from shunt.nn import functional as F
from shunt.nn.functional._common import reduction_of
from shunt.nn.modules._settings import SignatureOf, bound, check_numbers
from shunt.nn.modules.linear import Linear
from shunt.nn.modules.module import Module

_NAMES_OF_REDUCTIONS = ("none", "mean", "sum")
_LEGACY = ("size_average", "reduce")  # older spellings of reduction, still in PyTorch's order of arguments


class _Loss(Module):
    """Calls a function of nn.functional with the settings that the constructor was given.

    Raises TypeError for settings that are unknown or given twice.
    """

    _function = None
    _settings = {}  # name: default, in the order of the constructor's arguments
    _kept = ()  # those that are attributes: all but the older spellings of reduction
    _positional = 0  # how many may be given by position
    _weights = ("weight", "pos_weight")  # settings that are tensors: buffers

    def __init__(self, *args, **kwargs):
        super().__init__()
        name = type(self).__name__
        if len(args) > self._positional:
            raise TypeError(f"{name}() takes at most {self._positional} positional arguments, got {len(args)}")
        given = bound(name, tuple(self._settings), args, kwargs)
        check_numbers(name, given, self._settings)
        flags = [given.get(flag) for flag in _LEGACY]
        if any(flag is not None for flag in flags):
            given["reduction"] = _NAMES_OF_REDUCTIONS[reduction_of("mean", *flags)]
        for setting in self._kept:
            value = given.get(setting, self._settings[setting])
            if setting in self._weights:
                self.register_buffer(setting, value)
            else:
                setattr(self, setting, value)
        self._check()

    def _check(self):
        """ValueError for settings out of range."""

    def forward(self, input, target):
        return self._call(input, target)

    def _call(self, *tensors):
        return getattr(F, self._function)(*tensors, **{name: getattr(self, name) for name in self._kept})


class _OfThree(_Loss):
    def forward(self, input1, input2, target):
        return self._call(input1, input2, target)


class _Triplet(_Loss):
    def _check(self):
        if self.margin <= 0:
            raise ValueError(f"{type(self).__name__}(): expected margin greater than 0, got {self.margin}")

    def forward(self, anchor, positive, negative):
        return self._call(anchor, positive, negative)


class _MultiMargin(_Loss):
    def _check(self):
        if self.p not in (1, 2):
            raise ValueError(f"MultiMarginLoss(): expected p to be 1 or 2, got {self.p}")
        if self.weight is not None and self.weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss(): expected weight with 1 dimension, got {self.weight.dim()}")


class _GaussianNLL(_Loss):
    def forward(self, input, target, var):
        return self._call(input, target, var)


class _CTC(_Loss):
    def forward(self, log_probs, targets, input_lengths, target_lengths):
        return self._call(log_probs, targets, input_lengths, target_lengths)


def _loss(name, function, doc, order, base=_Loss, positional=None, reductions="'mean', 'sum' or 'none'", **defaults):
    """A class of losses: `order` has the names of the constructor's arguments, defaults are None but for those
    given."""
    settings = {setting: defaults.get(setting, "mean" if setting == "reduction" else None) for setting in order.split()}
    kept = tuple(setting for setting in settings if setting not in _LEGACY)
    positional = len(settings) if positional is None else positional
    return type(
        name,
        (base,),
        {
            "_function": function,
            "_settings": settings,
            "_kept": kept,
            "_positional": positional,
            "__signature__": SignatureOf(tuple(settings), settings),
            "__doc__": f"{doc} reduction: {reductions}.",
            "__module__": "shunt.nn",
            "__qualname__": name,
        },
    )


L1Loss = _loss("L1Loss", "l1_loss", "|input - target|.", "size_average reduce reduction")
MSELoss = _loss("MSELoss", "mse_loss", "(input - target)^2.", "size_average reduce reduction")
SmoothL1Loss = _loss(
    "SmoothL1Loss",
    "smooth_l1_loss",
    "Squared below beta, absolute above (Girshick 2015).",
    "size_average reduce reduction beta",
    beta=1.0,
)
HuberLoss = _loss(
    "HuberLoss", "huber_loss", "Squared below delta, delta times the distance above.", "reduction delta", delta=1.0
)
NLLLoss = _loss(
    "NLLLoss",
    "nll_loss",
    "-input[target], of log-probabilities (N, C, ...) and classes (N, ...).",
    "weight size_average ignore_index reduce reduction",
    ignore_index=-100,
)
CrossEntropyLoss = _loss(
    "CrossEntropyLoss",
    "cross_entropy",
    "-log_softmax(input)[target], of scores (N, C, ...) and classes (N, ...) or probabilities.",
    "weight size_average ignore_index reduce reduction label_smoothing",
    ignore_index=-100,
    label_smoothing=0.0,
)
BCELoss = _loss(
    "BCELoss",
    "binary_cross_entropy",
    "The cross entropy of probabilities and targets between 0 and 1.",
    "weight size_average reduce reduction",
)
BCEWithLogitsLoss = _loss(
    "BCEWithLogitsLoss",
    "binary_cross_entropy_with_logits",
    "The cross entropy of sigmoid(input) and targets between 0 and 1.",
    "weight size_average reduce reduction pos_weight",
)
KLDivLoss = _loss(
    "KLDivLoss",
    "kl_div",
    "target * (log(target) - input), of log-probabilities.",
    "size_average reduce reduction log_target",
    reductions="'mean', 'batchmean', 'sum' or 'none'",
    log_target=False,
)
PoissonNLLLoss = _loss(
    "PoissonNLLLoss",
    "poisson_nll_loss",
    "exp(input) - target * input: of Poisson rates, or their logarithms.",
    "log_input full size_average eps reduce reduction",
    log_input=True,
    full=False,
    eps=1e-8,
)
GaussianNLLLoss = _loss(
    "GaussianNLLLoss",
    "gaussian_nll_loss",
    "0.5 * (log(var) + (input - target)^2 / var), with var at least eps.",
    "full eps reduction",
    base=_GaussianNLL,
    positional=0,
    full=False,
    eps=1e-6,
)
MarginRankingLoss = _loss(
    "MarginRankingLoss",
    "margin_ranking_loss",
    "max(0, -target * (input1 - input2) + margin).",
    "margin size_average reduce reduction",
    base=_OfThree,
    margin=0.0,
)
CosineEmbeddingLoss = _loss(
    "CosineEmbeddingLoss",
    "cosine_embedding_loss",
    "1 - cos(input1, input2) where target is 1, max(0, cos(input1, input2) - margin) where it is -1.",
    "margin size_average reduce reduction",
    base=_OfThree,
    margin=0.0,
)
HingeEmbeddingLoss = _loss(
    "HingeEmbeddingLoss",
    "hinge_embedding_loss",
    "input where target is 1, max(0, margin - input) where it is -1.",
    "margin size_average reduce reduction",
    margin=1.0,
)
SoftMarginLoss = _loss(
    "SoftMarginLoss",
    "soft_margin_loss",
    "log(1 + exp(-target * input)), for targets 1 and -1.",
    "size_average reduce reduction",
)
MultiMarginLoss = _loss(
    "MultiMarginLoss",
    "multi_margin_loss",
    "The mean over classes other than the target of max(0, margin - input[target] + input)^p.",
    "p margin weight size_average reduce reduction",
    base=_MultiMargin,
    p=1,
    margin=1.0,
)
MultiLabelMarginLoss = _loss(
    "MultiLabelMarginLoss",
    "multilabel_margin_loss",
    "The sum over targets and other classes of max(0, 1 - input[target] + input), by the number of classes.",
    "size_average reduce reduction",
)
MultiLabelSoftMarginLoss = _loss(
    "MultiLabelSoftMarginLoss",
    "multilabel_soft_margin_loss",
    "The mean over classes of the cross entropy of sigmoid(input) and targets 0 and 1.",
    "weight size_average reduce reduction",
)
TripletMarginLoss = _loss(
    "TripletMarginLoss",
    "triplet_margin_loss",
    "max(0, d(anchor, positive) - d(anchor, negative) + margin), d the p-norm of differences.",
    "margin p eps swap size_average reduce reduction",
    base=_Triplet,
    margin=1.0,
    p=2.0,
    eps=1e-6,
    swap=False,
)
TripletMarginWithDistanceLoss = _loss(
    "TripletMarginWithDistanceLoss",
    "triplet_margin_with_distance_loss",
    "TripletMarginLoss with a function of two tensors for the distance.",
    "distance_function margin swap reduction",
    base=_Triplet,
    positional=0,
    margin=1.0,
    swap=False,
)
CTCLoss = _loss(
    "CTCLoss",
    "ctc_loss",
    "-log of the probability of the targets under all alignments (Graves and others 2006).",
    "blank reduction zero_infinity",
    base=_CTC,
    blank=0,
    zero_infinity=False,
)


class LinearCrossEntropyLoss(Module):
    """CrossEntropyLoss of a linear layer's results. Input (N, in_features) or (in_features), targets (N,
    *out_features) or,
    probabilities, (N, num_classes, *out_features).

    The layer is `linear`, of num_classes times the product of out_features. `options` choose how PyTorch computes it in
    parts, and change nothing here.
    """

    def __init__(
        self,
        in_features,
        num_classes,
        *,
        out_features=(),
        bias=False,
        device=None,
        dtype=None,
        reduction="mean",
        weight=None,
        ignore_index=None,
        label_smoothing=0.0,
        options=None,
    ):
        super().__init__()
        self.in_features, self.num_classes, self.out_features = in_features, num_classes, tuple(out_features)
        self.linear = Linear(in_features, num_classes * math.prod(self.out_features), bias, device, dtype)
        self.register_buffer("weight", weight)
        self.reduction, self.ignore_index, self.label_smoothing, self.options = (
            reduction,
            ignore_index,
            label_smoothing,
            options,
        )

    def forward(self, input, target):
        weight, bias = self.linear.weight, self.linear.bias
        if self.out_features:
            weight = weight.reshape((self.num_classes, *self.out_features, self.in_features))
            bias = None if bias is None else bias.reshape((self.num_classes, *self.out_features))
        return F.linear_cross_entropy(
            input,
            weight,
            target,
            linear_bias=bias,
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self):
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
