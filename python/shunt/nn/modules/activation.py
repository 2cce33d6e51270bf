"""Activations: a module for each function of nn.functional that has no parameters."""

from shunt.nn import functional as F
from shunt.nn.modules.module import Module


class _Activation(Module):
    """Calls a function with the settings that the constructor was given."""

    _function = None
    _settings = {}  # name: default, in the order of the constructor's arguments
    _shown = None  # names in the text; all by default

    def __init__(self, *args, **kwargs):
        super().__init__()
        names = list(self._settings)
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__}() takes at most {len(names)} arguments, got {len(args)}")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in self._settings:
                raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument '{name}'")
            if name in given:
                raise TypeError(f"{type(self).__name__}() got multiple values for argument '{name}'")
            given[name] = value
        for name, default in self._settings.items():
            setattr(self, name, given.get(name, default))

    def forward(self, input):
        return getattr(F, self._function)(input, **{name: getattr(self, name) for name in self._settings})

    def extra_repr(self):
        shown = []
        for name in self._settings:
            value = getattr(self, name)
            if name == "inplace":
                shown += ["inplace=True"] if value else []
            else:
                shown.append(f"{name}={value!r}")
        return ", ".join(shown)


def _activation(name, function, doc, **settings):
    return type(name, (_Activation,), {"_function": function, "_settings": settings, "__doc__": doc, "__module__": "shunt.nn"})


ReLU = _activation("ReLU", "relu", "max(x, 0), element by element.", inplace=False)
ReLU6 = _activation("ReLU6", "relu6", "min(max(x, 0), 6), element by element.", inplace=False)
LeakyReLU = _activation("LeakyReLU", "leaky_relu", "x, or negative_slope * x below 0.", negative_slope=0.01, inplace=False)
ELU = _activation("ELU", "elu", "x, or alpha * (exp(x) - 1) below 0.", alpha=1.0, inplace=False)
SELU = _activation("SELU", "selu", "ELU with the scales that keep mean and variance (Klambauer and others 2017).", inplace=False)
GELU = _activation("GELU", "gelu", "x times the normal distribution's function of x (Hendrycks and Gimpel 2016).", approximate="none")
SiLU = _activation("SiLU", "silu", "x * sigmoid(x), element by element.", inplace=False)
Mish = _activation("Mish", "mish", "x * tanh(softplus(x)), element by element.", inplace=False)
Softplus = _activation("Softplus", "softplus", "log(1 + exp(beta * x)) / beta, linear above threshold.", beta=1.0, threshold=20.0)
Hardtanh = _activation("Hardtanh", "hardtanh", "x kept between min_val and max_val.", min_val=-1.0, max_val=1.0, inplace=False)
Hardsigmoid = _activation("Hardsigmoid", "hardsigmoid", "relu6(x + 3) / 6, element by element.", inplace=False)
Hardswish = _activation("Hardswish", "hardswish", "x * relu6(x + 3) / 6, element by element.", inplace=False)
LogSigmoid = _activation("LogSigmoid", "logsigmoid", "log(sigmoid(x)), element by element.")
Softsign = _activation("Softsign", "softsign", "x / (1 + |x|), element by element.")
Sigmoid = _activation("Sigmoid", "sigmoid", "1 / (1 + exp(-x)), element by element.")
Tanh = _activation("Tanh", "tanh", "The hyperbolic tangent, element by element.")
Softmax = _activation("Softmax", "softmax", "exp(x), divided by its sum over dim.", dim=None)
LogSoftmax = _activation("LogSoftmax", "log_softmax", "The logarithm of Softmax over dim.", dim=None)
Threshold = _activation("Threshold", "threshold", "x where it is above threshold, else value.", threshold=0.0, value=0.0, inplace=False)
Dropout = _activation("Dropout", "dropout", "Zeros elements with probability p while training, and scales the others by 1 / (1 - p).",
                      p=0.5, inplace=False)


def _forward_dropout(self, input):
    return F.dropout(input, self.p, self.training, self.inplace)


def _init_dropout(self, p=0.5, inplace=False):
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    _Activation.__init__(self, p, inplace)


Dropout.forward = _forward_dropout
Dropout.__init__ = _init_dropout
Dropout.extra_repr = lambda self: f"p={self.p}, inplace={self.inplace}"
