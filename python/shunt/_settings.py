"""Settings and questions of PyTorch's that ask nothing of Shunt: kept where they can be set."""

from shunt import _C

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_warn_always",
    "typename",
    "use_deterministic_algorithms",
    "_assert",
]

_state = {"deterministic": False, "warn_only": False, "precision": "highest", "warn_always": False}


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Shunt's operators give the same results for the same arguments and number of threads in any case."""
    if not isinstance(mode, bool):
        raise TypeError(f"use_deterministic_algorithms(): argument 'mode' must be bool, not {type(mode).__name__}")
    _state["deterministic"], _state["warn_only"] = mode, bool(warn_only)


def are_deterministic_algorithms_enabled():
    """What use_deterministic_algorithms() has set."""
    return _state["deterministic"]


def is_deterministic_algorithms_warn_only_enabled():
    """What use_deterministic_algorithms() has set."""
    return _state["warn_only"]


def set_deterministic_debug_mode(debug_mode):
    """use_deterministic_algorithms(), by "default" or 0, "warn" or 1, "error" or 2."""
    modes = {"default": 0, "warn": 1, "error": 2, 0: 0, 1: 1, 2: 2}
    if debug_mode not in modes:
        raise RuntimeError(
            "set_deterministic_debug_mode(): expected 'default', 'warn', 'error' or their numbers 0, 1 and 2, got "
            f"{debug_mode!r}"
        )
    use_deterministic_algorithms(modes[debug_mode] > 0, warn_only=modes[debug_mode] == 1)


def get_deterministic_debug_mode():
    """0, 1 or 2: what set_deterministic_debug_mode() has set."""
    return 0 if not _state["deterministic"] else 1 if _state["warn_only"] else 2


def set_float32_matmul_precision(precision):
    """Products of float32 may be rounded by "high" or "medium"; Shunt computes them as by "highest". Warns of
    others."""
    if precision not in ("highest", "high", "medium"):
        import warnings

        _C._warn(
            f"set_float32_matmul_precision(): expected 'highest', 'high' or 'medium', not {precision!r}",
        )
        return
    _state["precision"] = precision


def get_float32_matmul_precision():
    """What set_float32_matmul_precision() has set."""
    return _state["precision"]


def set_flush_denormal(mode):
    """False: it can't be set."""
    return False


def get_num_interop_threads():
    """1: one operator runs at a time on each thread of the program."""
    return 1


def set_num_interop_threads(n):
    """RuntimeError unless n is a positive int; changes nothing."""
    if not isinstance(n, int) or n <= 0:
        raise RuntimeError(f"set_num_interop_threads(): expected an int of at least 1, got {n!r}")


def set_warn_always(b):
    """Whether warnings that come once in a process come each time; kept only."""
    _state["warn_always"] = bool(b)


def is_warn_always_enabled():
    """What set_warn_always() has set."""
    return _state["warn_always"]


def set_default_tensor_type(t):
    """Sets the default dtype by the name or class of its tensors, "torch.DoubleTensor"."""
    name = (t if isinstance(t, str) else getattr(t, "__name__", str(t))).rpartition(".")[2]
    dtypes = {
        "FloatTensor": _C.float32,
        "DoubleTensor": _C.float64,
        "HalfTensor": _C.float16,
        "BFloat16Tensor": _C.bfloat16,
    }
    if name not in dtypes:
        raise TypeError(f"set_default_tensor_type(): expected the type of tensors of a floating-point dtype, got {t!r}")
    _C.set_default_dtype(dtypes[name])


def typename(obj, /):
    """The name of an object's class, or of a class or function, with its module's."""
    if isinstance(obj, _C.TensorBase):
        return obj.type()
    module = getattr(obj, "__module__", "") or ""
    name = getattr(obj, "__qualname__", None)
    if name is None:
        module, name = type(obj).__module__, type(obj).__qualname__
    if module.partition(".")[0] == "shunt":
        module = _C._shown_package() + module[len("shunt"):]
    return name if module in ("", "builtins") else f"{module}.{name}"


def _assert(condition, message):
    """AssertionError with the message unless the condition holds."""
    if not condition:
        raise AssertionError(message)
