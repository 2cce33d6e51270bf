"""Methods of tensors that give their values to Python, or their addresses to others, without an operator that a recorder sees."""

from __future__ import annotations

import functools
from typing import Any

import torch

from .refusal import Refused, is_library_file, user_line
from .replaced import Replaced

_METHODS = ("tolist", "numpy", "__array__", "__dlpack__", "data_ptr", "__repr__", "__str__", "__format__", "untyped_storage", "storage",
            "share_memory_", "__reduce_ex__", "__deepcopy__", "register_hook", "register_post_accumulate_grad_hook")


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
            recorder.refusal = Refused(f"Tensor.{name}() gives away what a recorder can't follow: use operators, or return the tensor",
                                       user_line())
        return method(self, *args, **kwargs)

    guarded.__name__ = name
    guarded.__wrapped__ = method
    return guarded


def _is_users() -> bool:
    # PyTorch's own Python code asks for addresses, too: to compare them.
    import sys
    frame = sys._getframe(2)
    return not is_library_file(frame.f_code.co_filename)


_replaced = Replaced((torch.Tensor, name, functools.partial(_guarded, name)) for name in _METHODS)
