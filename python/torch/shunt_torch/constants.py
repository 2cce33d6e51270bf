"""Tensors made from Python's numbers while a call is recorded: torch.tensor([1, 2]), x[:, [0, 1]].

Such numbers are constants of the code, or guarded as arguments and variables are, so a tensor of them is the same in
each call. PyTorch copies them without an operator, and shows the finished tensor by `lift_fresh`. What it was made from
is known where it was made: by the methods that are replaced here while a call is recorded. Tensors from arrays, other
tensors, or objects that give numbers when asked aren't known.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import torch

from .replaced import Replaced


class PlainData:
    """While it is entered, `is_read` says whether this thread is in a call that makes tensors from nothing but
    numbers."""

    def __init__(self) -> None:
        self.is_read = False

    def __enter__(self) -> None:
        _replaced.enter(self)

    def __exit__(self, *_: Any) -> None:
        _replaced.exit()


def is_plain(data: Any) -> bool:
    """Whether data is a number, or lists and tuples of numbers."""
    if type(data) in (list, tuple, torch.Size):
        return all(map(is_plain, data))
    return type(data) in (bool, int, float, complex)


def _is_plain_index(index: Any) -> bool:
    """Whether all that has to become a tensor in an index is plain. Slices and tensors aren't copied."""
    if type(index) is tuple:
        return all(map(_is_plain_index, index))
    return index is None or index is Ellipsis or isinstance(index, (slice, torch.Tensor)) or is_plain(index)


def _watched(test: Callable, function: Callable) -> Callable:
    def watched(*args: Any, **kwargs: Any) -> Any:
        active = _replaced.here()
        if active is None:
            return function(*args, **kwargs)
        before = active.is_read
        try:
            active.is_read = test(*args, **kwargs)
        except TypeError:  # arguments that the function refuses, too
            active.is_read = False
        try:
            return function(*args, **kwargs)
        finally:
            active.is_read = before

    watched.__name__ = function.__name__
    watched.__wrapped__ = function
    return watched


_replaced = Replaced((place, name, functools.partial(_watched, test)) for place, name, test in (
    (torch, "tensor", lambda *args, **kwargs: is_plain(args[0] if args else kwargs.get("data"))),
    (torch, "as_tensor", lambda *args, **kwargs: is_plain(args[0] if args else kwargs.get("data"))),
    (torch.Tensor, "new_tensor", lambda self, *args, **kwargs: is_plain(args[0] if args else kwargs.get("data"))),
    (torch.Tensor, "__getitem__", lambda self, index: _is_plain_index(index)),
    (torch.Tensor, "__setitem__",
     lambda self, index, value: _is_plain_index(index) and (isinstance(value, torch.Tensor) or is_plain(value))),
))
