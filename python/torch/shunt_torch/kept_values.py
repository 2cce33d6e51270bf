"""Methods and attributes of tensors that a recorder sees no operator of, though what they give or do another call's
tensors may not: values for Python, addresses, whether they are views or shared, how often they were written."""

from __future__ import annotations

import functools
from typing import Any

import torch

from . import _C
from .refusal import Refused, is_library_file, user_line
from .replaced import Replaced

_METHODS = (
    "tolist", "numpy", "__array__", "__dlpack__", "data_ptr", "__repr__", "__str__", "__format__", "untyped_storage",
    "storage",
    "_typed_storage", "share_memory_", "is_shared", "_is_view", "__reduce_ex__", "__deepcopy__", "register_hook",
    "register_post_accumulate_grad_hook", "apply_", "map_", "map2_",
)  # fmt: skip
_ATTRIBUTES = ("_base", "_version", "_cdata", "output_nr")


class Guarded:
    """While it lasts, this thread's calls of such methods make the recorder refuse. Other threads' go on as they do."""

    def __init__(self, recorder: Any):
        self._recorder = recorder

    def __enter__(self) -> None:
        _replaced.enter(self._recorder)

    def __exit__(self, *_: Any) -> None:
        _replaced.exit()


def _guarded(name: str, method: Any) -> Any:
    def guarded(self, *args, **kwargs):
        recorder = _replaced.here()
        if recorder is not None and recorder.refusal is None and _is_users():
            _refuse(recorder, f"{name}()")
        return method(self, *args, **kwargs)

    guarded.__name__ = name
    guarded.__wrapped__ = method
    return guarded


def _refuse(recorder: Any, name: str) -> None:
    recorder.refusal = Refused(f"Tensor.{name} gives away what a recorder can't follow: use operators, or return the "
                               "tensor", user_line())


def _guarded_attribute(name: str, attribute: Any) -> property:
    def get(self):
        recorder = _replaced.here()
        if recorder is not None and recorder.refusal is None and _is_users():
            _refuse(recorder, name)
        return attribute.__get__(self)

    return property(get)


def _guarded_graph(attribute: Any) -> property:
    """The graph of an input may be another one in each call; that of what the call makes isn't."""
    def get(self):
        recorder, node = _replaced.here(), attribute.__get__(self)
        if node is not None and recorder is not None and recorder.refusal is None and _is_users():
            if any(self is t for _, t in recorder.inputs):
                _refuse(recorder, "grad_fn")
        return node

    return property(get)


def _guarded_offset(method: Any) -> Any:
    """Where a tensor begins in its storage is guarded if it is asked for."""
    def storage_offset(self):
        recorder = _replaced.here()
        if recorder is not None and _is_users():
            key = _C.key_of(self)
            recorder.absolute.update(key[:1] if key is not None else ())
        return method(self)

    return storage_offset


def _is_users() -> bool:
    # PyTorch's own Python code asks for addresses, too: to compare them.
    import sys
    frame = sys._getframe(2)
    return not is_library_file(frame.f_code.co_filename)


_replaced = Replaced((
    *((torch.Tensor, name, functools.partial(_guarded, name)) for name in _METHODS),
    *((torch.Tensor, name, functools.partial(_guarded_attribute, name)) for name in _ATTRIBUTES),
    (torch.Tensor, "grad_fn", _guarded_graph), (torch.Tensor, "storage_offset", _guarded_offset),
))
