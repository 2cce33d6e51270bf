"""torch.cuda.amp's old names: autocast and GradScaler for CUDA."""

from shunt.amp.autocast_mode import autocast as _autocast
from shunt.amp.grad_scaler import GradScaler as _GradScaler

__all__ = ["GradScaler", "autocast"]


class autocast(_autocast):
    """shunt.autocast("cuda", ...). Tensors on the CPU are computed as they are."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        from shunt import float16
        super().__init__("cuda", dtype=float16 if dtype is None else dtype, enabled=enabled,
                         cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """shunt.amp.GradScaler("cuda", ...)."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
