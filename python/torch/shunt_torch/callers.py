"""Who of PyTorch's own code is running: an optimiser, a distribution."""

from __future__ import annotations

import sys

import torch

from .refusal import is_library_file


def from_optimizer() -> str:
    """The class of the optimiser whose step() is running, or an empty string."""
    frame = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self") if frame.f_code.co_name == "step" else None
        if isinstance(owner, torch.optim.Optimizer):
            return type(owner).__name__
        frame = frame.f_back
    return ""


def from_distribution() -> bool:
    """Whether a distribution of PyTorch's is running, as it does to look at its arguments."""
    frame = sys._getframe(1)
    while frame is not None and is_library_file(frame.f_code.co_filename):
        if frame.f_globals.get("__name__", "").startswith("torch.distributions."):
            return True
        frame = frame.f_back
    return False
