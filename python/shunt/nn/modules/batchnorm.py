"""Normalisation over the batch."""

from shunt import _operators
from shunt.nn import functional as F
from shunt.nn import init
from shunt.nn.modules._settings import check_sizes
from shunt.nn.modules.module import Module
from shunt.nn.parameter import Parameter


def register_affine(module, shape, weight, bias, options):
    """Registers a weight and a bias where they are wanted, else None."""
    for name, wanted in (("weight", weight), ("bias", bias)):
        module.register_parameter(name, Parameter(_operators.empty(shape, **options)) if wanted else None)


def reset_affine(module):
    if module.weight is not None:
        init.ones_(module.weight)
    if getattr(module, "bias", None) is not None:
        init.zeros_(module.bias)


class _NormBase(Module):
    """What batch norm and instance norm share: a weight and a bias of each channel, and running statistics."""

    _version = 2
    _dims = ()

    def __init__(self, num_features, eps, momentum, affine, bias, track_running_stats, device, dtype):
        super().__init__()
        check_sizes(type(self).__name__, num_features=num_features)
        options = {"device": device, "dtype": dtype}
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        register_affine(self, (num_features,), affine, affine and bias, options)
        if track_running_stats:
            self.register_buffer("running_mean", _operators.zeros(num_features, **options))
            self.register_buffer("running_var", _operators.ones(num_features, **options))
            self.register_buffer("num_batches_tracked", _operators.zeros((), dtype=int, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self):
        """Mean 0, variance 1, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Weight 1, bias 0, and the running statistics."""
        self.reset_running_stats()
        reset_affine(self)

    def _check_dims(self, input):
        if input.dim() not in self._dims:
            raise ValueError(f"{type(self).__name__}(): expected {' or '.join(f'{d}D' for d in self._dims)} input (got "
                             f"{input.dim()}D input)")

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(num_features, eps, momentum, affine, bias, track_running_stats, device, dtype)

    def forward(self, input):
        self._check_dims(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or self.running_mean is None
        keeps = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keeps else None,
            self.running_var if keeps else None,
            self.weight,
            self.bias,
            by_batch,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Normalises each channel by the batch's mean and variance (Ioffe and Szegedy 2015). Input (N, C) or (N, C, L)."""

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalises each channel by the batch's mean and variance (Ioffe and Szegedy 2015). Input (N, C, H, W)."""

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalises each channel by the batch's mean and variance (Ioffe and Szegedy 2015). Input (N, C, D, H, W)."""

    _dims = (5,)
