"""Data types: the standard's names for them, and functions that answer questions about them."""

import shunt
from shunt import _C, _type_info

KINDS = {
    "bool": (_C.bool,),
    "signed integer": (_C.int8, _C.int16, _C.int32, _C.int64),
    "unsigned integer": (_C.uint8,),
    "real floating": (_C.float32, _C.float64),
    "complex floating": (),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"]


def isdtype(dtype, kind):
    """Whether a dtype is of a kind: a dtype, the name of a kind ("bool", "signed integer", "unsigned integer",
    "integral", "real floating", "complex floating", "numeric"), or a tuple of these. ValueError for other names.

    float16 and bfloat16 are real floating, too.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, _C.dtype):
        return dtype == kind
    if kind not in KINDS:
        raise ValueError(f"isdtype(): kind must be a dtype, a tuple, or one of {', '.join(KINDS)}, not {kind!r}")
    if dtype.is_floating_point:
        return kind in ("real floating", "numeric")
    if dtype.is_complex:
        return kind in ("complex floating", "numeric")
    return dtype in KINDS[kind]


def can_cast(from_, to, /):
    """Whether the promotion of dtypes takes a dtype, or a tensor's, to the dtype `to`."""
    source = from_.dtype if isinstance(from_, _C.TensorBase) else from_
    return _C.promote_types(source, to) is to


def result_type(*arrays_and_dtypes):
    """The dtype that tensors and dtypes promote to, whatever the tensors' shapes; numbers of Python take that of the
    others unless their kind is higher. ValueError without a tensor or dtype."""
    dtype, numbers = None, []
    for operand in arrays_and_dtypes:
        if isinstance(operand, (bool, int, float)):
            numbers.append(operand)
            continue
        one = operand if isinstance(operand, _C.dtype) else operand.dtype
        dtype = one if dtype is None else _C.promote_types(dtype, one)
    if dtype is None:
        raise ValueError("result_type(): expected a tensor or a dtype among the arguments")
    if numbers:
        like = _C.tensor([], dtype=dtype)
        for number in numbers:
            dtype = _C.promote_types(dtype, _type_info.result_type(like, number))
    return dtype


def promoted(name, *operands):
    """The operands as tensors of the dtype that they promote to. TypeError where none is a tensor."""
    try:
        dtype = result_type(*operands)
    except ValueError:
        raise TypeError(f"{name}(): expected a tensor among the arguments, got "
                        + ", ".join(type(operand).__name__ for operand in operands)) from None
    return [
        operand.to(dtype) if isinstance(operand, _C.TensorBase) else _C.tensor(operand, dtype=dtype)
        for operand in operands
    ]


class _Limits:
    """What finfo and iinfo return: theirs, with `dtype` as a dtype."""

    def __init__(self, limits, dtype):
        self._limits = limits
        self.dtype = dtype

    def __getattr__(self, name):
        return getattr(self._limits, name)

    def __repr__(self):
        return repr(self._limits)


def _dtype_of(type):
    return type.dtype if isinstance(type, _C.TensorBase) else type


def finfo(type, /):
    """The limits of a floating-point dtype, or of a tensor's: `bits`, `eps`, `max`, `min`, `smallest_normal`, `dtype`.
    TypeError for other dtypes."""
    dtype = _dtype_of(type)
    return _Limits(shunt.finfo(dtype), dtype)


def iinfo(type, /):
    """The limits of an integer dtype, or of a tensor's: `bits`, `max`, `min`, `dtype`. TypeError for other dtypes."""
    dtype = _dtype_of(type)
    return _Limits(shunt.iinfo(dtype), dtype)


def astype(x, dtype, /, *, copy=True, device=None):
    """The elements in a dtype, in memory of their own unless `copy` is False and the dtype is the tensor's."""
    return x.to(device=device, dtype=dtype, copy=copy)
