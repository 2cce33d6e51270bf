"""Handles of hooks."""

from shunt.nn.modules._hooks import RemovableHandle

__all__ = ["RemovableHandle"]
