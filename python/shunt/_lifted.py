"""LiftedFloat: what stands for a float that takes many values, an argument or one that is read, while a function is
recorded.

To the graph it is an input, a tensor of one double. Sums, differences and products of it with numbers are those that
Python computes. With a tensor it does what a Python number does: it is rounded to the dtype of the result, and doesn't
change it (_lifted_rules.py). What a tensor can't do to the bit is refused, and each value of the float gets a variant:
reads of its value, powers, and quotients of numbers, which raise ZeroDivisionError in Python alone.
"""

import dis
import sys

from shunt import _C
from shunt._tensor import Tensor
from shunt._type_info import result_type


class Floats:
    """The floats that are lifted in one recording: their names by path, and what was refused first."""

    __slots__ = ("names", "refused")

    def __init__(self, names):
        self.names = names
        self.refused = None  # paths, and why, with the line of the user's code

    def refuse(self, paths, what, where=None):
        """Notes that these floats can't be lifted, which holds even if the function catches the error. `where`: the
        line of the user's code; the caller's by default."""
        from shunt._walk.refusal import Refused, user_line
        names = " and ".join(self.names.get(path, path) for path in paths)
        error = Refused(f"the float {names} {what}", user_line() if where is None else where)
        if self.refused is None:
            self.refused = paths, str(error)
        raise error


_UNKNOWN = Floats({})


def refuse(numbers, what):
    """Raises Refused, as a graph would freeze the value of these LiftedFloats."""
    paths = tuple(dict.fromkeys(path for n in numbers for path in n.paths))
    floats = numbers[0].floats
    (floats if floats is not None else _UNKNOWN).refuse(paths, what)


def _refused(what):
    def method(self, *args):
        refuse([self], what)
    return method


def _check_not_in_place(number):
    """`w *= k` comes to __rmul__, too, where w's method isn't asked for k, and would leave w as it was."""
    caller = sys._getframe(2)
    at, bytecode = caller.f_lasti, caller.f_code.co_code
    name = dis.opname[bytecode[at]] if at >= 0 else ""
    # 13: NB_INPLACE_ADD.
    if name == "BINARY_OP" and bytecode[at + 1] < 13 or name.startswith("BINARY_") and name != "BINARY_OP":
        return
    refuse([number], "is an operand in place")


class LiftedFloat:
    """`tensor`: of shape [] and dtype float64. `paths`: of the floats that it was computed from."""

    __slots__ = ("tensor", "paths", "floats")
    __class__ = float  # for isinstance()

    def __init__(self, tensor, paths=(), floats=None):
        self.tensor, self.paths, self.floats = tensor, paths, floats

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What functions and methods of tensors make of it."""
        from shunt._lifted_rules import call
        return call(func, args, kwargs or {})

    def beside(self, x):
        """The number as an operand beside a tensor."""
        dtype = result_type(x, 1.0)
        return self.tensor if dtype == _C.float64 else self.tensor.to(dtype)

    def _with(self, other, operation, reverse=False):
        if isinstance(other, Tensor):
            mine = self.beside(other)
            return operation(other, mine) if reverse else operation(mine, other)
        if type(other) is LiftedFloat:
            theirs, paths = other.tensor, tuple(dict.fromkeys(self.paths + other.paths))
        elif type(other) in (int, float, bool) and abs(other) <= 2**53 or type(other) is float:
            theirs, paths = other, self.paths
        else:
            return NotImplemented
        return LiftedFloat(operation(theirs, self.tensor) if reverse else operation(self.tensor, theirs), paths,
                           self.floats)

    def __add__(self, other):
        return self._with(other, lambda a, b: a + b)

    def __radd__(self, other):
        if isinstance(other, Tensor):
            _check_not_in_place(self)
        return self._with(other, lambda a, b: a + b, True)

    def __sub__(self, other):
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other):
        if isinstance(other, Tensor):
            _check_not_in_place(self)
        return self._with(other, lambda a, b: a - b, True)

    def __mul__(self, other):
        return self._with(other, lambda a, b: a * b)

    def __rmul__(self, other):
        if isinstance(other, Tensor):
            _check_not_in_place(self)
        return self._with(other, lambda a, b: a * b, True)

    def __truediv__(self, other):
        if type(other) is LiftedFloat or not isinstance(other, Tensor) and other == 0:
            refuse([self], "is divided by what may be 0")
        if isinstance(other, Tensor):  # a number by a tensor is a product with what reciprocal() gives
            return self._with(other.reciprocal(), lambda a, b: b * a)
        return self._with(other, lambda a, b: a / b)

    def __rtruediv__(self, other):
        if not isinstance(other, Tensor):
            refuse([self], "divides a number")
        _check_not_in_place(self)
        return self._with(other, lambda a, b: a / b, True)

    def __neg__(self):
        return LiftedFloat(-self.tensor, self.paths, self.floats)

    def __pos__(self):
        return self

    def __abs__(self):
        return LiftedFloat(abs(self.tensor), self.paths, self.floats)

    __pow__ = __rpow__ = _refused("is raised to a power, or is one")
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _refused(
        "is divided with a remainder")
    # Without __float__ and __index__, so that methods of tensors don't take it for a number, and leave it to
    # __torch_function__.
    __bool__ = __int__ = __round__ = __trunc__ = __floor__ = __ceil__ = _refused("is read as a number")
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refused("is compared")
    __hash__ = _refused("is a key")
    __repr__ = __str__ = __format__ = __reduce__ = _refused("is written as text")

    def __getattr__(self, name):
        refuse([self], f"is asked for {name}")
