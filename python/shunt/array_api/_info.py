"""__array_namespace_info__: what the namespace can do."""

from shunt import _C
from shunt.array_api._data_types import KINDS


class _Info:
    """Answers of the standard's inspection functions."""

    def capabilities(self):
        """What is there: indexing by masks, and shapes that depend on values."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """The device of tensors that are made without one."""
        return _C.device("cpu")

    def devices(self):
        """Devices that have kernels for all functions."""
        return [_C.device("cpu")]

    def default_dtypes(self, *, device=None):
        """The dtypes of tensors that are made of Python's numbers, and that of indices."""
        return {"real floating": _C.get_default_dtype(), "integral": _C.int64, "indexing": _C.int64}

    def dtypes(self, *, device=None, kind=None):
        """The dtypes of a kind, or of a tuple of kinds, by name; all by default."""
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        return {str(dtype).split(".")[1]: dtype for one in kinds for dtype in KINDS[one]}


def __array_namespace_info__():
    """An object with the standard's inspection functions."""
    return _Info()
