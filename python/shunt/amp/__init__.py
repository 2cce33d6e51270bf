"""Mixed precision: operators run in a lower precision where that is as good."""

from shunt.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from shunt.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
