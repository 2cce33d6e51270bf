"""Normalisation of each sample for itself."""


from shunt import _C
from shunt.nn import functional as F
from shunt.nn.modules.batchnorm import _NormBase


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=False,
        track_running_stats=False,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(num_features, eps, momentum, affine, bias, track_running_stats, device, dtype)

    def forward(self, input):
        self._check_dims(input)
        batched = input.dim() == max(self._dims)
        x = input if batched else input.unsqueeze(0)
        if x.size(1) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"{type(self).__name__}: expected input with {self.num_features} channels in dimension "
                    f"{int(batched)}, got {x.size(1)}"
                )
            _C._warn(
                f"{type(self).__name__}: expected input with num_features={self.num_features} channels in dimension "
                f"{int(batched)}, got {x.size(1)}; affine=False doesn't use num_features, so it may be left out",
            )
        result = F.instance_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result if batched else result.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each sample (Ulyanov and others 2016). Input (N, C, L) or (C, L)."""

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalises each channel of each sample (Ulyanov and others 2016). Input (N, C, H, W) or (C, H, W)."""

    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalises each channel of each sample (Ulyanov and others 2016). Input (N, C, D, H, W) or (C, D, H, W)."""

    _dims = (4, 5)
