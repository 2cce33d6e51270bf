"""Arguments that are several tensors: a module's parameters, which programs forget to ask for."""

from shunt import _C


def iterable_of(what, function, name, value):
    """The value, if it can be iterated over. TypeError, which says what was meant, for others and for a Tensor."""
    if not isinstance(value, _C.TensorBase):
        try:
            iter(value)
            return value
        except TypeError:
            pass
    kind = type(value).__name__
    hint = ""
    if hasattr(value, "parameters") and callable(value.parameters):
        hint = "; pass its parameters()"
    elif callable(value):
        hint = f"; call it: {getattr(value, '__name__', 'it')}()"
    raise TypeError(f"{function}(): expected {name} to be an iterable of {what}, got {kind}{hint}")
