"""The accelerator of this process, whichever it is: a CUDA backend's devices, or none."""

from shunt import _C, cuda

__all__ = ["current_accelerator", "current_device_index", "device_count", "is_available", "synchronize"]


def is_available():
    """Whether tensors can be made on an accelerator."""
    return cuda.is_available()


def device_count():
    """How many devices there are; 0 without a backend."""
    return cuda.device_count()


def current_accelerator(check_available=False):
    """The accelerator's device, without an index; None where there is no backend."""
    return _C.device("cuda") if is_available() else None


NONE = "expected an accelerator, of which this machine has none"


def _require():
    if not is_available():
        raise RuntimeError(NONE)


def current_device_index():
    """The index of the device that is current. RuntimeError without one."""
    _require()
    return cuda.current_device()


def synchronize(device=None):
    """Waits for the work that is queued on a device, by default the current one. RuntimeError without one."""
    _require()
    cuda.synchronize(device)


def __getattr__(name):
    import sys

    from shunt._near_names import no_name
    raise no_name(__name__, name, globals(), sys._getframe(1), __file__)
