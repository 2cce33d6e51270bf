"""autocast, and the settings of the thread."""

import functools

from shunt import _C, _autocast
from shunt._C import bfloat16, float16

__all__ = ["autocast", "autocast_mode", "custom_bwd", "custom_fwd", "is_autocast_available", "is_autocast_enabled"]

_AVAILABLE = ("cpu", "cuda", "xpu", "hpu", "privateuseone")


def _check_type(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"autocast: expected device_type to be a str, got {type(device_type).__name__}")


def is_autocast_available(device_type):
    """Whether autocast exists for a device type."""
    _check_type(device_type)
    return device_type in _AVAILABLE


def is_autocast_enabled(device_type="cuda"):
    """Whether autocast is on for a device type, on this thread."""
    return is_autocast_available(device_type) and _C._is_autocast_enabled(device_type)


def get_autocast_dtype(device_type):
    """The dtype that operators run in where autocast is on; else the device type's usual one."""
    _check_available(device_type)
    return _set_dtypes.get(device_type) or _C._autocast_dtype(device_type)


_set_dtypes = {}


def set_autocast_dtype(device_type, dtype):
    """Sets the dtype that autocast takes where it isn't told one."""
    _check_available(device_type)
    _set_dtypes[device_type] = dtype


def _check_available(device_type):
    if not is_autocast_available(device_type):
        from shunt._near_names import did_you_mean
        raise RuntimeError(
            f"autocast: unsupported autocast device_type {device_type!r}; expected one of {', '.join(_AVAILABLE)}"
            f"{did_you_mean(str(device_type), _AVAILABLE)}"
        )


class autocast:
    """A context manager and decorator: in the block, on this thread, products, convolutions and the like of
    floating-point tensors of a device type run in a lower precision, and what needs the range runs in float32.

    Args:
        device_type: "cpu", "cuda", ...
        dtype: bfloat16 or float16; for the CPU bfloat16 by default, else float16.
        enabled: False turns it off in the block.
        cache_enabled: whether the cast of a parameter is kept for the next operator.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        _check_available(device_type)
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if enabled and self.fast_dtype not in (bfloat16, float16):
            _C._warn(
                f"autocast: expected dtype bfloat16 or float16 for {device_type}, got {self.fast_dtype}, which is not "
                "supported; autocast stays off"
            )
            enabled = False
        self._enabled = bool(enabled)
        self._cache_enabled = _C.is_autocast_cache_enabled() if cache_enabled is None else bool(cache_enabled)
        self._guards = []

    def __enter__(self):
        if self._enabled and self.device != "cpu":
            _autocast.other_devices.add(self.device)
        dtype = self.fast_dtype if self.fast_dtype in (bfloat16, float16) else bfloat16
        self._guards.append(_C._enter_autocast(self.device, dtype, self._enabled, self._cache_enabled))
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        _C._exit_autocast(self._guards.pop())
        return False

    def __call__(self, func):
        @functools.wraps(func)
        def decorated(*args, **kwargs):
            with self:
                return func(*args, **kwargs)

        return decorated


autocast_mode = autocast


def _cast(value, device_type, dtype):
    from shunt import Tensor
    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.itemsize != 8
        return value.to(dtype) if eligible else value
    if isinstance(value, dict):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [_cast(v, device_type, dtype) for v in value]
        return type(value)(parts) if type(value) in (list, tuple) else type(value)(*parts)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorates forward() of an autograd.Function.

    With cast_inputs, where autocast is on, floating-point arguments are cast to that dtype and forward runs without
    autocast; without it, it runs under the autocast that is on. backward() wants custom_bwd().
    """
    _check_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args, **kwargs):
        ctx = args[0]
        ctx._dtype = get_autocast_dtype(device_type)
        enabled = is_autocast_enabled(device_type)
        if cast_inputs is None:
            ctx._fwd_used_autocast = enabled
            return fwd(*args, **kwargs)
        ctx._fwd_used_autocast = False
        if not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd=None, *, device_type):
    """Decorates backward() of an autograd.Function, which then runs with the autocast that forward() ran with."""
    _check_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args, **kwargs):
        ctx = args[0]
        with autocast(device_type=device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return decorated


# Names of the module shunt.
def is_autocast_cpu_enabled():
    """As is_autocast_enabled("cpu")."""
    return is_autocast_enabled("cpu")


def get_autocast_cpu_dtype():
    """As get_autocast_dtype("cpu")."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype():
    """As get_autocast_dtype("cuda")."""
    return get_autocast_dtype("cuda")
