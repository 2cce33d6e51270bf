"""Convolutions over one and two dimensions."""

import math

from shunt import _operators
from shunt.nn import functional as F
from shunt.nn import init
from shunt.nn.modules.module import Module
from shunt.nn.parameter import Parameter


def _tuple_of(value, n, name):
    if isinstance(value, (tuple, list)):
        if len(value) != n:
            raise ValueError(f"{name} has {len(value)} values, and there are {n} dimensions")
        return tuple(value)
    return (value,) * n


class _Conv(Module):
    _dims = None

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__()
        n = self._dims
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding_mode != "zeros":
            if padding_mode not in ("reflect", "replicate", "circular"):
                raise ValueError(f"padding_mode must be one of {{'zeros', 'reflect', 'replicate', 'circular'}}, but got "
                                 f"padding_mode='{padding_mode}'")
            raise NotImplementedError(f"{type(self).__name__}: padding_mode='{padding_mode}' is not implemented in Shunt; only 'zeros' is")
        self.in_channels, self.out_channels, self.groups, self.padding_mode = in_channels, out_channels, groups, padding_mode
        self.kernel_size = _tuple_of(kernel_size, n, "kernel_size")
        self.stride = _tuple_of(stride, n, "stride")
        self.padding = padding if isinstance(padding, str) else _tuple_of(padding, n, "padding")
        if self.padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        self.dilation = _tuple_of(dilation, n, "dilation")
        options = {"device": device, "dtype": dtype}
        self.weight = Parameter(_operators.empty(out_channels, in_channels // groups, *self.kernel_size, **options))
        self.bias = Parameter(_operators.empty(out_channels, **options)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters again: uniform within 1 / sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * self._dims:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self._dims:
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text


class Conv1d(_Conv):
    """Convolution over the last dimension. Input (N, in_channels, L) or (in_channels, L), output (N, out_channels, L')."""

    _dims = 1

    def forward(self, input):
        return F.conv1d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2d(_Conv):
    """Convolution over the last two dimensions. Input (N, in_channels, H, W), output (N, out_channels, H', W')."""

    _dims = 2

    def forward(self, input):
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
