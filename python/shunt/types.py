"""Names for annotations, by which programs of PyTorch's say what they take."""

import os
from typing import IO, Any, Union

from shunt import Size, Tensor, device, dtype  # noqa: F401
from shunt._schema import Type  # noqa: F401
from shunt._typed_storage import TypedStorage as Storage  # noqa: F401

Number = Union[int, float, bool]
Device = Union[device, str, int, None]
FileLike = Union[str, os.PathLike, IO[bytes]]
# Sizes and numbers are Python's own here: nothing is symbolic.
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool
SymInt, SymFloat, SymBool = int, float, bool
PySymType = Union[int, float, bool]
py_sym_types = (int, float, bool)
_int, _float, _bool = int, float, bool
_dtype, _device, _size = dtype, device, Union[Size, list[int], tuple[int, ...]]
_TensorOrTensors = Union[Tensor, tuple[Tensor, ...], list[Tensor]]
_Any = Any
