"""Refusals: why a call can't be captured, with the line of the user's code."""

from __future__ import annotations

import functools
import os
import sys
from types import FrameType

from . import library, origin

_MAX_SOURCE = 100  # characters of a line


class Refused(Exception):
    """A call that can't be captured soundly. `retry`: a later call may be another matter, as that of an optimiser which
    has made its state."""

    def __init__(self, reason: str, where: str = "", retry: bool = False):
        super().__init__(f"{where}: {reason}" if where else reason)
        self.reason, self.where, self.retry = reason, where, retry


@functools.lru_cache(maxsize=4096)
def is_library_file(filename: str) -> bool:
    """Whether a file is the tensor library's or this package's, which aren't the user's code."""
    return filename.startswith(library.FOLDERS) or filename.startswith("<frozen ")


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that isn't in the tensor library, this package or Python's standard library."""
    while frame is not None and (is_library_file(frame.f_code.co_filename) or _is_standard(frame.f_code.co_filename)):
        frame = frame.f_back
    return frame


def _is_standard(filename: str) -> bool:
    return filename.startswith(origin.STANDARD_FOLDERS) and not origin.is_installed(filename)


def shortened(value: object) -> str:
    """What repr() says of a value, in one line of at most 80 characters; of a tensor what it is."""
    if isinstance(value, library.Tensor):
        return f"a {type(value).__name__} of {str(value.dtype).rpartition('.')[2]}{list(value.shape)}"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of a user's class, or of a list with a tensor that has no text while a call is recorded
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


def user_line() -> str:
    """Where the user's code is that led here: "step.py:12 `loss.item()`"; empty where there is none."""
    frame = user_frame(sys._getframe(1))
    if frame is None:
        return ""
    return line_of(frame.f_code.co_filename, frame.f_lineno)


def line_of(file: str, line: int) -> str:
    """A line of the user's code: "step.py:12 `loss.item()`"."""
    source = source_at(file, line)
    return f"{os.path.basename(file)}:{line}" + (f" `{source}`" if source else "")


def source_at(file: str, line: int) -> str:
    """At most 100 characters of a line; empty where there is no source."""
    import linecache

    source = linecache.getline(file, line).strip()
    return source if len(source) <= _MAX_SOURCE else source[: _MAX_SOURCE - 3] + "..."
