"""profile and record_function by their old names; shunt.profiler has more."""

from shunt.profiler import profile as _profile
from shunt.profiler import record_function

__all__ = ["profile", "record_function"]


class profile(_profile):
    """shunt.profiler.profile, which `enabled` False switches off."""

    def __init__(self, enabled=True, *, use_cuda=False, record_shapes=False, **others):
        super().__init__(record_shapes=record_shapes)
        self._enabled = enabled

    def start(self):
        """Begins."""
        if self._enabled:
            super().start()
