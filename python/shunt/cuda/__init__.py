"""What programs ask of CUDA before they use it. Without a CUDA backend in the process there is no device."""

from shunt import _C
from shunt.cuda import amp

__all__ = ["OutOfMemoryError", "amp", "current_device", "device_count", "empty_cache", "is_available",
           "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all", "synchronize"]


class OutOfMemoryError(RuntimeError):
    """What programs catch where a device has too little memory; nothing raises it."""


def device_count():
    """How many CUDA devices there are; 0 without a backend."""
    return _C._cuda_device_count()


def is_available():
    """Whether tensors can be made on a CUDA device."""
    return device_count() > 0


def is_initialized():
    """Whether a CUDA backend is there."""
    return is_available()


def _require():
    if not is_available():
        raise RuntimeError("there is no CUDA device: no backend for CUDA is registered in this process")


def current_device():
    """The index of the device that "cuda" means. RuntimeError without one."""
    _require()
    return 0


def synchronize(device=None):
    """Waits for the work that is queued on a device. RuntimeError without one."""
    _require()
    _C._cuda_synchronize(-1 if device is None else int(getattr(device, "index", device) or 0))


def is_bf16_supported(including_emulation=True):
    """Whether a device computes with bfloat16."""
    return is_available()


def empty_cache():
    """Does nothing: Shunt keeps no memory of devices."""


def manual_seed(seed):
    """Seeds the generators of all devices, where there are any."""
    if is_available():
        from shunt import manual_seed as seed_all
        seed_all(seed)


manual_seed_all = manual_seed


def __getattr__(name):
    import sys

    from shunt._near_names import no_name
    raise no_name(__name__, name, globals(), sys._getframe(1), __file__)
