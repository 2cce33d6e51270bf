"""profile and record_function by their old names; shunt.profiler has more."""

from shunt.profiler import profile as _profile
from shunt.profiler import record_function

__all__ = ["profile", "record_function"]


class profile(_profile):
    """shunt.profiler.profile, which `enabled` False switches off."""

    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, record_shapes=False, with_flops=False,
                 profile_memory=False, with_stack=False, with_modules=False, use_kineto=False, use_cpu=True,
                 experimental_config=None, acc_events=False, custom_trace_id_callback=None):
        super().__init__(record_shapes=record_shapes)
        self._enabled = enabled

    def start(self):
        """Begins."""
        if self._enabled:
            super().start()
