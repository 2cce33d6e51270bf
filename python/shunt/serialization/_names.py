"""The names by which archives of PyTorch's say what they hold."""

from shunt import _C

#: PyTorch's classes of storages, which stand for dtypes.
STORAGES = {
    "ByteStorage": _C.uint8, "CharStorage": _C.int8, "ShortStorage": _C.int16, "IntStorage": _C.int32,
    "LongStorage": _C.int64,
    "HalfStorage": _C.float16, "FloatStorage": _C.float32, "DoubleStorage": _C.float64, "BoolStorage": _C.bool,
    "BFloat16Storage": _C.bfloat16,
}
STORAGE_OF = {dtype: name for name, dtype in STORAGES.items()}

#: dtypes by their names in torch.
DTYPES = {name: getattr(_C, name) for name in ("uint8", "int8", "int16", "int32", "int64", "float16", "float32",
                                               "float64", "bool",
                                               "bfloat16")}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
