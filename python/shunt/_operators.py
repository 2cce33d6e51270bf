"""The dictionary's functions, without those that are parts of others."""

import sys

from shunt._C import _functions, _linalg, _nn

__all__ = [name for name in dir(_functions) if not name.startswith("_") and not name.endswith("_backward")]

globals().update({name: getattr(_functions, name) for name in __all__})

# Where pickle finds them: in the package, and those that are parts of others in the module that they are made in.
for _name in __all__:
    globals()[_name].__module__ = "shunt"
for _module in (_functions, _linalg, _nn):
    sys.modules[_module.__name__] = _module
del _name, _module
