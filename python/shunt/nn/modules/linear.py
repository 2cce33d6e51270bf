"""Linear and bilinear maps, and dimensions that are merged and split."""

import math

from shunt import _operators
from shunt.nn import functional as F
from shunt.nn import init
from shunt.nn.modules._settings import check_sizes
from shunt.nn.modules.module import Module
from shunt.nn.parameter import Parameter


class Identity(Module):
    """Returns what it is given; arguments are ignored."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    """y = x A^T + b. Input (*, in_features), output (*, out_features).

    Parameters: weight (out_features, in_features) and bias (out_features), uniform within 1 / sqrt(in_features).
    """

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        check_sizes("Linear", in_features=in_features, out_features=out_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(_operators.empty(out_features, in_features, device=device, dtype=dtype))
        self.bias = Parameter(_operators.empty(out_features, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters again."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


# The class that PyTorch's MultiheadAttention has for out_proj.
NonDynamicallyQuantizableLinear = Linear


class Bilinear(Module):
    """y[k] = x1^T A[k] x2 + b[k]. Inputs (*, in1_features) and (*, in2_features), output (*, out_features).

    Parameters: weight (out_features, in1_features, in2_features) and bias, uniform within 1 / sqrt(in1_features).
    """

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        check_sizes("Bilinear", in1_features=in1_features, in2_features=in2_features, out_features=out_features)
        if in1_features <= 0:
            raise ValueError(f"Bilinear(): expected in1_features greater than 0, got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        options = {"device": device, "dtype": dtype}
        self.weight = Parameter(_operators.empty(out_features, in1_features, in2_features, **options))
        self.bias = Parameter(_operators.empty(out_features, **options)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters again."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Flatten(Module):
    """Makes one dimension of those from start_dim to end_dim."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Makes dimensions of the sizes unflattened_size of dimension dim."""

    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
