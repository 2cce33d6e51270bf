"""Refusals: why a call can't be captured, with the line of the user's code."""

from __future__ import annotations

import functools
import linecache
import os
import sys

import torch

_OWN = tuple(os.path.dirname(os.path.abspath(f)) + os.sep for f in (torch.__file__, __file__))


class Refused(Exception):
    """A call that can't be captured soundly. `retry`: a later call may be another matter, as that of an optimiser which has
    made its state."""

    def __init__(self, reason: str, where: str = "", retry: bool = False):
        super().__init__(f"{where}: {reason}" if where else reason)
        self.reason, self.where, self.retry = reason, where, retry


@functools.lru_cache(maxsize=4096)
def is_library_file(filename: str) -> bool:
    """Whether a file is PyTorch's or this package's, which aren't the user's code."""
    return filename.startswith(_OWN) or filename.startswith("<frozen ")


def user_line() -> str:
    """Where the user's code is that led here: "step.py:12 `loss.item()`"; empty where there is none."""
    frame = sys._getframe(1)
    while frame is not None and is_library_file(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return ""
    file, line = frame.f_code.co_filename, frame.f_lineno
    source = linecache.getline(file, line).strip()
    return f"{os.path.basename(file)}:{line}" + (f" `{source}`" if source else "")


def from_optimizer() -> str:
    """The class of the optimiser whose step() is running, or an empty string."""
    frame = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self") if frame.f_code.co_name == "step" else None
        if isinstance(owner, torch.optim.Optimizer):
            return type(owner).__name__
        frame = frame.f_back
    return ""
