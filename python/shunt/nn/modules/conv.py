"""Convolutions over one, two and three dimensions, and their transposes."""

import math

from shunt import _operators
from shunt.nn import functional as F
from shunt.nn import init
from shunt.nn.modules._settings import check_sizes
from shunt.nn.modules.module import Module
from shunt.nn.parameter import Parameter

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _tuple_of(value, n, name):
    if isinstance(value, (tuple, list)):
        if len(value) != n:
            raise ValueError(f"{name} has {len(value)} values, and there are {n} dimensions")
        return tuple(value)
    return (value,) * n


def _check_choice(module, name, value, choices):
    if value not in choices:
        raise ValueError(f"{module}(): expected {name} to be one of {', '.join(map(repr, choices))}, got {value!r}")


class _ConvNd(Module):
    """What convolutions and their transposes share: the settings, the parameters and the text."""

    _dims = None
    transposed = False

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        output_padding,
        dilation,
        groups,
        bias,
        padding_mode,
        device,
        dtype,
    ):
        super().__init__()
        n = self._dims
        name = type(self).__name__
        check_sizes(name, in_channels=in_channels, out_channels=out_channels, groups=groups)
        if groups < 1:
            raise ValueError(f"{name}(): expected groups from 1, got {groups}")
        for which, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name}(): expected {which} to be divisible by groups = {groups}, got {channels}")
        _check_choice(name, "padding", padding if isinstance(padding, str) else "valid", ("valid", "same"))
        _check_choice(name, "padding_mode", padding_mode, _PADDING_MODES)
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            in_channels,
            out_channels,
            groups,
            padding_mode,
        )
        self.kernel_size = _tuple_of(kernel_size, n, "kernel_size")
        self.stride = _tuple_of(stride, n, "stride")
        self.padding = padding if isinstance(padding, str) else _tuple_of(padding, n, "padding")
        if self.padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError(f"{name}(): padding 'same' needs a stride of 1, got {self.stride}")
        self.dilation, self.output_padding = (
            _tuple_of(dilation, n, "dilation"),
            _tuple_of(output_padding, n, "output_padding"),
        )
        options = {"device": device, "dtype": dtype}
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = Parameter(_operators.empty(first, second // groups, *self.kernel_size, **options))
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
        if self.output_padding != (0,) * self._dims:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    _function = None

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            0,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _sides(self):
        """How many elements F.pad puts before and after each dimension, the last first."""
        if self.padding == "valid":
            return (0,) * (2 * self._dims)
        if self.padding == "same":
            total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            return tuple(side for t in reversed(total) for side in (t // 2, t - t // 2))
        return tuple(side for p in reversed(self.padding) for side in (p, p))

    def forward(self, input):
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._sides(), self.padding_mode), 0
        return getattr(F, self._function)(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )


class Conv1d(_Conv):
    """Convolution over the last dimension. Input (N, in_channels, L) or (in_channels, L), output (N, out_channels,
    L')."""

    _dims, _function = 1, "conv1d"


class Conv2d(_Conv):
    """Convolution over the last two dimensions. Input (N, in_channels, H, W), output (N, out_channels, H', W')."""

    _dims, _function = 2, "conv2d"


class Conv3d(_Conv):
    """Convolution over the last three dimensions. Input (N, in_channels, D, H, W), output (N, out_channels, D', H',
    W')."""

    _dims, _function = 3, "conv3d"


class _ConvTranspose(_ConvNd):
    _function = None
    transposed = True

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        if padding_mode != "zeros":
            raise ValueError(
                f"{type(self).__name__}(): expected padding_mode 'zeros', the only one here, got {padding_mode!r}"
            )
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input, output_size):
        """The output_padding that gives an output size. ValueError for sizes that no padding gives."""
        if output_size is None:
            return self.output_padding
        n = self._dims
        sizes = list(output_size)
        if len(sizes) == n + (input.dim() - n):
            sizes = sizes[-n:]
        if len(sizes) != n:
            raise ValueError(
                f"{type(self).__name__}: expected output_size with {n} or {input.dim()} sizes, got {len(output_size)}"
            )
        result = []
        for d, size in enumerate(sizes):
            least = (
                (input.size(d + input.dim() - n) - 1) * self.stride[d]
                - 2 * self.padding[d]
                + self.dilation[d] * (self.kernel_size[d] - 1)
                + 1
            )
            if not least <= size < least + self.stride[d]:
                raise ValueError(
                    f"{type(self).__name__}: expected output_size from {least} to {least + self.stride[d] - 1} in "
                    f"dimension {d}, for input of {tuple(input.shape[-n:])}, got {sizes}"
                )
            result.append(size - least)
        return tuple(result)

    def forward(self, input, output_size=None):
        return getattr(F, self._function)(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_ConvTranspose):
    """What the backward of Conv1d gives its input, as a layer. Input (N, in_channels, L), output (N,
    out_channels, L')."""

    _dims, _function = 1, "conv_transpose1d"


class ConvTranspose2d(_ConvTranspose):
    """What the backward of Conv2d gives its input, as a layer. Input (N, in_channels, H, W), output (N,
    out_channels, H', W')."""

    _dims, _function = 2, "conv_transpose2d"


class ConvTranspose3d(_ConvTranspose):
    """What the backward of Conv3d gives its input, as a layer. Input (N, in_channels, D, H, W)."""

    _dims, _function = 3, "conv_transpose3d"
