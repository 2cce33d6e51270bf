"""detect_anomaly and set_detect_anomaly: finding the forward call whose backward fails or makes NaNs."""


from shunt import _C

__all__ = ["detect_anomaly", "set_detect_anomaly"]

_C._note_forward_places()


class detect_anomaly:
    """A context manager in which each step of a graph notes where in the program it was made.

    Where a step fails in backward, or with check_nan makes a NaN (RuntimeError then), the traceback of its forward call
    is a warning. For this thread. Slow: for debugging.
    """

    def __init__(self, check_nan=True):
        self.check_nan = check_nan
        _C._warn(
            "detect_anomaly() records the stack of every operator, and is slow; use it only to find a mistake",
        )

    def __enter__(self):
        self._before = _C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled()
        _C._set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *error):
        _C._set_anomaly_enabled(*self._before)


class set_detect_anomaly:
    """Switches anomaly mode at once; as a context manager, for the block."""

    def __init__(self, mode, check_nan=True):
        self._before = _C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled()
        _C._set_anomaly_enabled(mode, check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *error):
        _C._set_anomaly_enabled(*self._before)
