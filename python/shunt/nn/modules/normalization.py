"""Normalisation over groups of channels and over layers."""

from shunt import _operators
from shunt.nn import functional as F
from shunt.nn.modules._settings import check_sizes
from shunt.nn.modules.batchnorm import register_affine, reset_affine
from shunt.nn.modules.module import Module
from shunt.nn.parameter import Parameter


class GroupNorm(Module):
    """Normalises each of num_groups groups of channels of each sample (Wu and He 2018). Input (N, num_channels, *)."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        check_sizes("GroupNorm", num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups != 0:
            raise ValueError(
                f"GroupNorm(): expected num_groups to divide num_channels, {num_channels}, got {num_groups}"
            )
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        register_affine(self, (num_channels,), affine, affine and bias, {"device": device, "dtype": dtype})
        self.reset_parameters()

    def reset_parameters(self):
        """Weight 1, bias 0."""
        reset_affine(self)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LayerNorm(Module):
    """Normalises over the last dimensions, of the sizes normalized_shape (Ba and others 2016)."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        options = {"device": device, "dtype": dtype}
        register_affine(self, self.normalized_shape, elementwise_affine, elementwise_affine and bias, options)
        self.reset_parameters()

    def reset_parameters(self):
        """Weight 1, bias 0."""
        reset_affine(self)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides by the root of the mean square over the last dimensions, of the sizes normalized_shape (Zhang and
    Sennrich 2019).

    eps: by default the distance from 1 to the next number of the dtype.
    """

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = (
            Parameter(_operators.empty(self.normalized_shape, device=device, dtype=dtype))
            if elementwise_affine
            else None
        )
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self):
        """Weight 1."""
        reset_affine(self)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Module):
    """x / (k + alpha * the mean of the squares of `size` channels around each)^beta. Input (N, C, *)."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """LocalResponseNorm of images by running sums over channels, as PyTorch has it: from the channel after the first
    whole window on, the sums keep one channel more than the window. Input (N, C, H, W), ValueError for another."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: expected 4D input (N, C, H, W), got {input.dim()}D")
        squares, channels = (input * input).unbind(1), input.size(1)
        ahead = int((self.size - 1) / 2 + 1)
        total = squares[0]
        for square in squares[1:min(ahead, channels)]:
            total = total + square
        sums = [total]
        for c in range(1, channels):
            if c < channels - ahead + 1:
                total = total + squares[c + ahead - 1]
            if c > ahead:
                total = total - squares[c - ahead]
            sums.append(total)
        return input * (_operators.stack(sums, 1) * (self.alpha / self.size) + self.k).pow(-self.beta)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
