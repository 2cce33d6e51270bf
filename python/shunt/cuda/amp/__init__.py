"""torch.cuda.amp's old names: autocast for CUDA."""

from shunt.amp.autocast_mode import autocast as _autocast

__all__ = ["autocast"]


class autocast(_autocast):
    """shunt.autocast("cuda", ...). Tensors on the CPU are computed as they are."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        from shunt import float16
        super().__init__("cuda", dtype=float16 if dtype is None else dtype, enabled=enabled, cache_enabled=cache_enabled)
