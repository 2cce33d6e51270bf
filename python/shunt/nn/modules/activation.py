"""Activations: a module for each function of nn.functional."""

from shunt import _operators
from shunt.nn import functional as F
from shunt.nn import init
from shunt.nn.modules.attention import MultiheadAttention  # noqa: F401  PyTorch has it here
from shunt.nn.modules._settings import Configured, configured
from shunt.nn.modules.module import Module
from shunt.nn.parameter import Parameter

ReLU = configured("ReLU", "relu", "max(x, 0), element by element.", inplace=False)
ReLU6 = configured("ReLU6", "relu6", "min(max(x, 0), 6), element by element.", inplace=False)
LeakyReLU = configured(
    "LeakyReLU", "leaky_relu", "x, or negative_slope * x below 0.", negative_slope=0.01, inplace=False
)
ELU = configured("ELU", "elu", "x, or alpha * (exp(x) - 1) below 0.", alpha=1.0, inplace=False)
CELU = configured(
    "CELU", "celu", "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)), element by element.", alpha=1.0, inplace=False
)
SELU = configured(
    "SELU", "selu", "ELU with the scales that keep mean and variance (Klambauer and others 2017).", inplace=False
)
SiLU = configured("SiLU", "silu", "x * sigmoid(x), element by element.", inplace=False)
Mish = configured("Mish", "mish", "x * tanh(softplus(x)), element by element.", inplace=False)
Softplus = configured(
    "Softplus", "softplus", "log(1 + exp(beta * x)) / beta, linear above threshold.", beta=1.0, threshold=20.0
)
Hardtanh = configured(
    "Hardtanh", "hardtanh", "x kept between min_val and max_val.", min_val=-1.0, max_val=1.0, inplace=False
)
Hardsigmoid = configured("Hardsigmoid", "hardsigmoid", "relu6(x + 3) / 6, element by element.", inplace=False)
Hardswish = configured("Hardswish", "hardswish", "x * relu6(x + 3) / 6, element by element.", inplace=False)
LogSigmoid = configured("LogSigmoid", "logsigmoid", "log(sigmoid(x)), element by element.")
Softsign = configured("Softsign", "softsign", "x / (1 + |x|), element by element.")
Tanhshrink = configured("Tanhshrink", "tanhshrink", "x - tanh(x), element by element.")
Sigmoid = configured("Sigmoid", "sigmoid", "1 / (1 + exp(-x)), element by element.")
Tanh = configured("Tanh", "tanh", "The hyperbolic tangent, element by element.")
GLU = configured("GLU", "glu", "a * sigmoid(b), where a and b are the halves of the input along dim.", dim=-1)
Softmax = configured("Softmax", "softmax", "exp(x), divided by its sum over dim.", dim=None)
Softmin = configured("Softmin", "softmin", "Softmax of -x over dim.", dim=None)
LogSoftmax = configured("LogSoftmax", "log_softmax", "The logarithm of Softmax over dim.", dim=None)
Threshold = configured(
    "Threshold", "threshold", "x where it is above threshold, else value.", ("threshold", "value"), inplace=False
)


class _Shrink(Configured):
    def extra_repr(self):
        return str(self.lambd)


Hardshrink = configured("Hardshrink", "hardshrink", "x where |x| > lambd, else 0.", base=_Shrink, lambd=0.5)
Softshrink = configured(
    "Softshrink", "softshrink", "x moved towards 0 by lambd; 0 where it would pass it.", base=_Shrink, lambd=0.5
)


class GELU(Module):
    """x times the normal distribution's function of x (Hendrycks and Gimpel 2016); approximate: "none" or "tanh"."""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class RReLU(Module):
    """x where x >= 0, else a * x, where a is drawn from [lower, upper) for each element in training, else their
    mean."""

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class Softmax2d(Module):
    """Softmax over the channels of each place. Input (N, C, H, W) or (C, H, W); ValueError otherwise."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input with 3 or 4 dimensions, got {input.dim()}")
        return F.softmax(input, -3)


class PReLU(Module):
    """x where x > 0, else weight * x (He and others 2015).

    Parameter: weight (num_parameters), 1 or the number of channels (dimension 1), `init` at first.
    """

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(_operators.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Sets the weight to `init`."""
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"
