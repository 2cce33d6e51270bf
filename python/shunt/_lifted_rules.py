"""What functions and methods of tensors do with a LiftedFloat: what they do with the number, to the bit.

A number beside a tensor is rounded to the dtype of the result first, so a tensor of one element of that dtype gives the
same. `alpha` and `value` are rounded to the dtype that is computed in, float32 for float16 and bfloat16, and no tensor
can be in their place: the operator is written as the product and sum that it is.
"""

from shunt import _C
from shunt._lifted import LiftedFloat, refuse
from shunt._tensor import Tensor
from shunt._type_info import result_type


def call(func, args, kwargs):
    """func(*args, **kwargs). Refused, with the function's name, where no tensor can be in the number's place."""
    name = getattr(func, "__name__", "a function")
    rule = _RULES.get(name)
    result = rule(func, name, args, kwargs) if rule is not None else None
    if result is None:
        refuse(_lifted_in((*args, *kwargs.values())), f"is an argument of {name.strip('_')}()")
    return result


def _lifted_in(values):
    found = [v for v in values if type(v) is LiftedFloat]
    return found or [v for values_in in values if isinstance(values_in, (tuple, list))
                     for v in values_in if type(v) is LiftedFloat]


def _bound(args, kwargs, names):
    """The arguments by these names; None where there are others, but for out=None."""
    given = dict(zip(names, args))
    if "self" in kwargs or len(args) > len(names):
        return None
    for key, value in kwargs.items():
        key = {"input": names[0], "x1": names[0], "x2": names[1]}.get(key, key)
        if key == "out" and value is None:
            continue
        if key not in names or key in given:
            return None
        given[key] = value
    return given


def _computed_in(dtype):
    return _C.float64 if dtype == _C.float64 else _C.float32


def _binary(func, name, args, kwargs):
    """add, sub, mul, div: two operands, one of which is a tensor."""
    given = _bound(args, kwargs, ("input", "other", "alpha") if "alpha" in kwargs else ("input", "other"))
    if given is None:
        return None
    x, y, alpha = given.get("input"), given.get("other"), given.get("alpha")
    if type(alpha) is LiftedFloat:
        sign = {"add": 1, "sub": -1, "subtract": -1}.get(name.rstrip("_"))
        if sign is None or not isinstance(x, Tensor) or not isinstance(y, Tensor):
            return None
        return _added(x, (y,), lambda k, y: y * k, alpha, sign, name.endswith("_"))
    more = {} if alpha is None else {"alpha": alpha}
    if isinstance(x, Tensor) and type(y) is LiftedFloat:
        return func(x, y.beside(x), **more)
    if isinstance(y, Tensor) and type(x) is LiftedFloat:
        return func(x.beside(y), y, **more)
    return None


def _added(x, operands, term_of, number, sign, in_place):
    """x + sign * term_of(number, *operands), rounded once."""
    dtype = _common(x, operands)
    if dtype is None or not in_place and not _has_layout_of(x, operands):
        return None
    inner = _computed_in(dtype)
    if _is_differentiated(x, operands) and (len(operands) > 1 or operands[0].shape != x.shape or inner != dtype
                                            or sign < 0 or in_place and dtype != x.dtype):
        return None  # the gradients are rounded in another order, or a NaN has the other sign
    k = number.tensor.to(inner)
    term = term_of(k, *(o.to(dtype).to(inner) for o in operands))
    if in_place and dtype == inner == x.dtype:
        return x.add_(term) if sign > 0 else x.sub_(term)
    base = x.to(dtype).to(inner)
    result = (base + term if sign > 0 else base - term).to(dtype)
    return x.copy_(result) if in_place else result


def _common(x, operands):
    """The dtype in which the operator has its result; None where it takes no fraction."""
    dtype = x.dtype
    if any(o.dtype != dtype for o in operands):
        if len(operands) > 1:
            return None
        dtype = result_type(x, operands[0])
    return dtype if dtype.is_floating_point else None


def _is_differentiated(x, operands):
    return _C.is_grad_enabled() and any(t.requires_grad for t in (x, *operands))


def _has_layout_of(x, operands):
    """Whether the sum lies in memory as the operator's result does: an operand that is expanded has other strides after
    a product."""
    same_shape = all(o.shape == x.shape for o in operands)
    return same_shape and x.is_contiguous() or not any(0 in o.stride() for o in operands)


def _with_value(func, name, args, kwargs):
    """addcmul and addcdiv with `value`."""
    given = _bound(args, kwargs, ("input", "tensor1", "tensor2", "value"))
    if given is None or len(given) < 4 or len(args) > 3 or type(given["value"]) is not LiftedFloat:
        return None
    x, a, b = given["input"], given["tensor1"], given["tensor2"]
    if not all(isinstance(t, Tensor) for t in (x, a, b)):
        return None
    term_of = (lambda k, a, b: a * k * b) if name.startswith("addcmul") else (lambda k, a, b: a * k / b)
    return _added(x, (a, b), term_of, given["value"], 1, name.endswith("_"))


_RULES = {name + suffix: _binary for suffix in ("", "_")
          for name in ("add", "div", "divide", "mul", "multiply", "sub", "subtract", "true_divide")}
_RULES |= {"rsub": _binary, "__rsub__": _binary}
_RULES |= {name: _with_value for name in ("addcdiv", "addcdiv_", "addcmul", "addcmul_")}
