"""Higher-order operators, as torch.cond, while a call is recorded.

They choose a kernel by the thread's dispatch keys, too, in Python, and know nothing of the two by which operators are
recorded. Without these they run as they do otherwise, and the operators that they are made of are recorded.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from .replaced import Replaced


def _without_keys_of_recording(extract: Callable) -> Callable:
    def extract_others(tensors: Any, mask: Any) -> Any:
        keys = _replaced.here()
        return extract(tensors, mask if keys is None else mask - keys)
    return extract_others


_replaced = Replaced([(torch._ops, "key_extractor", _without_keys_of_recording)])


def hide(keys: Any) -> None:
    """From now on, this thread's higher-order operators don't see `keys`."""
    _replaced.enter(keys)


def show() -> None:
    _replaced.exit()
