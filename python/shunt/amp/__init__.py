"""Mixed precision: operators run in a lower precision where that is as good."""

from shunt.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from shunt.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def __getattr__(name):
    import sys

    from shunt._near_names import no_name
    raise no_name(__name__, name, globals(), sys._getframe(1), __file__)
