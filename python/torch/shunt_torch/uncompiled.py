"""What torch.compile has compiled writes memory by no operator: while calls are recorded, such functions run as they
are."""

from __future__ import annotations

import sys
import threading
from typing import Any

import torch

_lock = threading.Lock()
_recording = 0  # how many threads are
_stance: Any = None  # one for the process


def begin() -> None:
    global _recording, _stance
    with _lock:
        _recording += 1
        if _stance is None and "torch._dynamo" in sys.modules:
            _stance = torch.compiler.set_stance("force_eager")
            _stance.__enter__()


def end() -> None:
    global _recording, _stance
    with _lock:
        _recording -= 1
        if _recording == 0 and _stance is not None:
            _stance.__exit__(None, None, None)
            _stance = None
