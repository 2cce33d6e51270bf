"""Captured calls of PyTorch on the CPU, by Shunt."""

import torch  # its libraries, before the extension's

from .capture import CheckFailed, capture

__all__ = ["CheckFailed", "capture"]
