"""Elementwise functions. Those of two tensors promote both to one dtype, whatever their shapes; one may be a number."""

import shunt
from shunt import _C
from shunt.array_api._data_types import promoted

_ONE = {
    name: name for name in (
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh", "exp", "expm1",
        "floor", "imag", "isfinite", "isinf", "isnan", "log", "log1p", "log2", "log10", "logical_not", "negative",
        "positive", "real", "reciprocal", "round", "signbit", "sin", "sinh", "square", "sqrt", "tan", "tanh",
        "trunc")
} | {"bitwise_invert": "bitwise_not"}

_TWO = {
    name: name for name in (
        "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
        "copysign", "divide", "floor_divide", "greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp",
        "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow",
        "remainder", "subtract")
} | {"equal": "eq"}


def _of_one(name, function):
    def of_one(x, /):
        return function(x)

    return _named(of_one, name, function, "x")


def _of_two(name, function):
    def of_two(x1, x2, /):
        return function(*promoted(name, x1, x2))

    return _named(of_two, name, function, "x1, x2")


def _named(wrapper, name, function, arguments):
    wrapper.__name__ = wrapper.__qualname__ = name
    wrapper.__doc__ = f"{name}({arguments}, /)\n\nshunt.{function.__name__} for each element."
    return wrapper


for _name, _shunts in _ONE.items():
    if hasattr(shunt, _shunts):
        globals()[_name] = _of_one(_name, getattr(shunt, _shunts))
for _name, _shunts in _TWO.items():
    if hasattr(shunt, _shunts):
        globals()[_name] = _of_two(_name, getattr(shunt, _shunts))


def sign(x, /):
    """-1, 0 or 1, by the sign of each element; NaN of NaN, for which shunt.sign has 0."""
    result = shunt.sign(x)
    return shunt.where(x != x, x, result) if x.is_floating_point() else result


def clip(x, /, min=None, max=None):
    """Each element limited to the range from `min` to `max`: numbers or tensors, in the dtype of `x`."""
    limits = [_limit(bound, x) for bound in (min, max)]
    if limits == [None, None]:
        return x.clone()
    return shunt.clamp(x, *limits)


def _limit(bound, x):
    if bound is None:
        return None
    if isinstance(bound, _C.TensorBase):
        return bound.to(x.dtype)
    return _C.tensor(bound, dtype=x.dtype, device=x.device)
