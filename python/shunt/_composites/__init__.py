"""Functions and methods that are made of a few operators each, where PyTorch has one of the name."""

from shunt._composites import indexing, linear_algebra, more_forms, pointwise, rows, shapes
from shunt._composites._common import METHODS, broadcast_shapes
from shunt._composites.shapes import PROPERTIES


def _functions_of(module):
    return {name: value for name, value in vars(module).items()
            if not name.startswith("_") and callable(value) and getattr(value, "__module__", None) == module.__name__}


_functions = {"broadcast_shapes": broadcast_shapes}
for _module in (shapes, pointwise, rows, linear_algebra, indexing):
    _functions.update(_functions_of(_module))

# In-place forms are methods alone.
_functions = {name: f for name, f in _functions.items() if not name.endswith("_")}
globals().update(_functions)

__all__ = sorted(_functions)


def add_methods(cls):
    """Gives the class of tensors the methods and properties."""
    for name, function in METHODS.items():
        setattr(cls, name, function)
    for name, (getter, doc) in PROPERTIES.items():
        setattr(cls, name, property(getter, doc=doc))
