"""The dictionary's functions, without those that are parts of others."""

from shunt._C import _functions

__all__ = [name for name in dir(_functions) if not name.startswith("_") and not name.endswith("_backward")]

globals().update({name: getattr(_functions, name) for name in __all__})
