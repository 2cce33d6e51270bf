"""Pooling: the largest, the mean, or the norm of windows; adaptive forms choose windows that give an output size."""

from shunt.nn import functional as F
from shunt.nn.modules.module import Module

_SHAPES = {1: "(N, C, L) or (C, L)", 2: "(N, C, H, W) or (C, H, W)", 3: "(N, C, D, H, W) or (C, D, H, W)"}


class _MaxPool(Module):
    _dims = None

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input):
        pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[self._dims - 1]
        return pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self):
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class _MaxUnpool(Module):
    _dims = None

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size = _spread(kernel_size, self._dims)
        self.stride = self.kernel_size if stride is None else _spread(stride, self._dims)
        self.padding = _spread(padding, self._dims)

    def forward(self, input, indices, output_size=None):
        unpool = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[self._dims - 1]
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


def _spread(value, count):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


class AvgPool1d(Module):
    """The mean of each window. Input (N, C, L) or (C, L)."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        self.kernel_size = _spread(kernel_size, 1)
        self.stride = self.kernel_size if stride is None else _spread(stride, 1)
        self.padding, self.ceil_mode, self.count_include_pad = _spread(padding, 1), ceil_mode, count_include_pad

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Module):
    _dims = None

    def __init__(
        self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
    ):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input):
        pool = F.avg_pool2d if self._dims == 2 else F.avg_pool3d
        return pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _LPPool(Module):
    _dims = None

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input):
        pool = (F.lp_pool1d, F.lp_pool2d, F.lp_pool3d)[self._dims - 1]
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self):
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class _FractionalMaxPool(Module):
    _dims = None

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        self.kernel_size, self.return_indices = _spread(kernel_size, self._dims), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else _spread(output_size, self._dims)
        self.output_ratio = None if output_ratio is None else _spread(output_ratio, self._dims)
        if (output_size is None) == (output_ratio is None):
            raise ValueError(
                f"{type(self).__name__}(): expected either output_size or output_ratio, got "
                f"{'neither' if output_size is None else 'both'}"
            )
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(
                f"{type(self).__name__}(): expected output_ratio between 0 and 1, both excluded, got {output_ratio}"
            )

    def forward(self, input):
        pool = F.fractional_max_pool2d if self._dims == 2 else F.fractional_max_pool3d
        return pool(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class _AdaptiveAvgPool(Module):
    _dims = None

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        pool = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[self._dims - 1]
        return pool(input, self.output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class _AdaptiveMaxPool(Module):
    _dims = None

    def __init__(self, output_size, return_indices=False):
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input):
        pool = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)[self._dims - 1]
        return pool(input, self.output_size, self.return_indices)

    def extra_repr(self):
        return f"output_size={self.output_size}"


def _pools(name, base, doc, dims=(1, 2, 3)):
    """The classes of one kind, for these numbers of dimensions."""
    return [
        type(
            f"{name}{n}d",
            (base,),
            {
                "_dims": n,
                "__doc__": f"{doc} Input {_SHAPES[n]}.",
                "__module__": "shunt.nn",
                "__qualname__": f"{name}{n}d",
            },
        )
        for n in dims
    ]


MaxPool1d, MaxPool2d, MaxPool3d = _pools("MaxPool", _MaxPool, "The largest element of each window.")
MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = _pools(
    "MaxUnpool", _MaxUnpool, "The elements that MaxPool found at their places, and zeros elsewhere."
)
AvgPool2d, AvgPool3d = _pools("AvgPool", _AvgPool, "The mean of each window.", (2, 3))
LPPool1d, LPPool2d, LPPool3d = _pools("LPPool", _LPPool, "The norm of each window, of the order norm_type.")
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = _pools(
    "AdaptiveAvgPool", _AdaptiveAvgPool, "The mean of as many windows as give output_size."
)
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = _pools(
    "AdaptiveMaxPool", _AdaptiveMaxPool, "The largest element of as many windows as give output_size."
)
FractionalMaxPool2d, FractionalMaxPool3d = _pools(
    "FractionalMaxPool",
    _FractionalMaxPool,
    "The largest element of windows at pseudo-random places (Graham 2014).",
    (2, 3),
)
