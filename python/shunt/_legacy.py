"""Tensor(...) and FloatTensor(...): the constructors of PyTorch's early days, which programs still call."""

import builtins

from shunt import _C

_TYPES = {"DoubleTensor": _C.float64, "FloatTensor": _C.float32, "HalfTensor": _C.float16,
          "BFloat16Tensor": _C.bfloat16, "LongTensor": _C.int64, "IntTensor": _C.int32, "ShortTensor": _C.int16,
          "CharTensor": _C.int8, "ByteTensor": _C.uint8, "BoolTensor": _C.bool}
_names = {dtype: name for name, dtype in _TYPES.items()}


def _described(args, kwargs):
    parts = [type(a).__name__ for a in args] + [f"{name}={type(value).__name__}" for name, value in kwargs.items()]
    return ", ".join(parts)


def _is_int(obj):
    return isinstance(obj, int) and not isinstance(obj, builtins.bool) or (
        hasattr(obj, "__index__") and not hasattr(obj, "__len__") and not isinstance(obj, int))


def _of_one(value, dtype, device):
    if isinstance(value, _C.Size):
        return _empty(value, dtype, device)
    if isinstance(value, _C.TensorBase):
        return value.detach()
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): expected data to be a sequence of numbers, got {type(value).__name__}")
    if not hasattr(value, "__len__"):
        raise TypeError(f"new(): expected data to be a sequence of numbers, got {type(value).__name__}")
    return _C.tensor(value, dtype=dtype, device=device)


def _empty(sizes, dtype, device):
    from shunt import empty
    return empty(tuple(sizes), dtype=dtype, device=device)


def _new(dtype, args, kwargs):
    device = kwargs.pop("device", None) or "cpu"  # of old, so not the default one
    if kwargs:
        raise TypeError(
            f"new(): got ({_described(args, kwargs)}), expected (*, device=None), (Tensor other), (tuple of ints size, "
            "*, device=None) or (object data, *, device=None)"
        )
    if not args:
        return _empty((0,), dtype, device)
    if all(_is_int(a) for a in args):
        return _empty(args, dtype, device)
    if len(args) == 1:
        return _of_one(args[0], dtype, device)
    raise TypeError(f"new(): got ({_described(args, {})}), expected ints, one sequence or one Tensor")


def new_tensor_of_class(cls, *args, **kwargs):
    """cls(...) of Tensor and of classes derived from it."""
    from shunt import Tensor
    tensor = _new(_C.get_default_dtype(), args, kwargs)
    if cls is not Tensor or any(isinstance(a, _C.TensorBase) for a in args):
        return _C._alias_of_class(tensor, cls)
    return tensor


def new_like(tensor, args, device):
    """tensor.new(...)"""
    return _new(tensor.dtype, args, {"device": tensor.device if device is None else device})


class _TypeOfTensors(type):
    """FloatTensor and the like: what makes tensors of one dtype, and knows them. No tensor is an object of it."""

    def __call__(cls, *args, **kwargs):
        for a in args:
            if isinstance(a, _C.TensorBase) and a.dtype is not cls.dtype:
                raise TypeError(f"{cls.__name__}(): expected a Tensor of dtype {cls.dtype}, got one of {a.dtype}")
        return _new(cls.dtype, args, kwargs)

    def __repr__(cls):
        return f"<class '{_C._shown_package()}.{cls.__name__}'>"

    def __instancecheck__(cls, obj):
        return isinstance(obj, _C.TensorBase) and obj.dtype is cls.dtype and obj.is_cpu


def _make_types():
    for name, dtype in _TYPES.items():
        doc = f"{name}(*sizes) or {name}(data)\n\nA tensor of {dtype}: of these sizes, with any contents, or of data."
        yield name, _TypeOfTensors(name, (), {"dtype": dtype, "__module__": "shunt", "__doc__": doc})


types = dict(_make_types())


def type_name(tensor):
    prefix = _C._shown_package() + ("." if tensor.is_cpu else f".{tensor.device.type}.")
    return prefix + _names[tensor.dtype]


def to_type(tensor, dtype, non_blocking):
    """tensor.type(dtype)"""
    if dtype is None:
        return type_name(tensor)
    if isinstance(dtype, str):
        name = dtype.split(".")[-1]
        if name not in _TYPES or dtype.split(".")[0] not in ("shunt", "torch"):
            from shunt._near_names import did_you_mean
            raise ValueError(f"invalid type: '{dtype}'{did_you_mean(name, _TYPES)}")
        dtype = _TYPES[name]
    elif isinstance(dtype, _TypeOfTensors):
        dtype = dtype.dtype
    elif dtype not in _names and dtype not in (float, int, builtins.bool):
        raise TypeError(f"type(): argument 'dtype' must be shunt.dtype, a type of tensors or its name, not {dtype!r}")
    return tensor.to(dtype, non_blocking)
