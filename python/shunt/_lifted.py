"""LiftedFloat: what stands for a float that takes many values, an argument or one that is read, while a function is
recorded.

To the graph it is an input, a tensor of one double. Sums, differences and products of it with numbers are those that
Python computes. With a tensor it does what a Python number does: it is rounded to the tensor's dtype, and doesn't
change it. What a tensor can't do just so is refused, and the function runs as it is: where its value is read, powers,
and quotients of numbers, which raise ZeroDivisionError in Python alone.
"""

import dis
import sys
from _thread import _local as threading_local  # threading.local, without that module

from shunt import _C
from shunt._tensor import Tensor


_noted = threading_local()


class noting_refusals:
    """A block in which a function is recorded. At its end what was refused in it is raised again, as the function may
    have caught it and gone another way."""

    def __enter__(self):
        self._before = getattr(_noted, "first", None)
        _noted.first = None

    def __exit__(self, kind, error, traceback):
        first, _noted.first = _noted.first, self._before
        if kind is None and first is not None:
            raise first


def _refuse(what):
    from shunt._walk.refusal import Refused
    error = Refused(f"a float that takes many values {what}, and a graph would freeze it: keep it in a tensor")
    if getattr(_noted, "first", None) is None:
        _noted.first = error
    raise error


def _refused(what):
    def method(self, *args):
        _refuse(what)
    return method


def _check_not_in_place():
    """`w *= k` comes to __rmul__, too, where w's own method doesn't take k, and would leave w as it was."""
    caller = sys._getframe(2)
    at, bytecode = caller.f_lasti, caller.f_code.co_code
    name = dis.opname[bytecode[at]] if at >= 0 else ""
    # 13: NB_INPLACE_ADD.
    if name == "BINARY_OP" and bytecode[at + 1] < 13 or name.startswith("BINARY_") and name != "BINARY_OP":
        return
    _refuse("is an operand in place")


class LiftedFloat:
    """`tensor`: of shape [] and dtype float64."""

    __slots__ = ("tensor",)
    __class__ = float  # for isinstance()

    def __init__(self, tensor):
        self.tensor = tensor

    def _beside(self, x):
        """The number as an operand beside a tensor."""
        if x.dtype not in (_C.float32, _C.float64):
            _refuse(f"meets a tensor of {x.dtype}")
        return self.tensor if x.dtype == _C.float64 else self.tensor.to(x.dtype)

    def _with(self, other, operation, reverse=False):
        if isinstance(other, Tensor):
            mine, theirs = self._beside(other), other
        elif type(other) is LiftedFloat:
            return LiftedFloat(operation(other.tensor, self.tensor) if reverse
                               else operation(self.tensor, other.tensor))
        elif type(other) in (int, float, bool) and abs(other) <= 2**53 or type(other) is float:
            return LiftedFloat(operation(other, self.tensor) if reverse else operation(self.tensor, other))
        else:
            return NotImplemented
        return operation(theirs, mine) if reverse else operation(mine, theirs)

    def __add__(self, other):
        return self._with(other, lambda a, b: a + b)

    def __radd__(self, other):
        _check_not_in_place()
        return self._with(other, lambda a, b: a + b, True)

    def __sub__(self, other):
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other):
        _check_not_in_place()
        return self._with(other, lambda a, b: a - b, True)

    def __mul__(self, other):
        return self._with(other, lambda a, b: a * b)

    def __rmul__(self, other):
        _check_not_in_place()
        return self._with(other, lambda a, b: a * b, True)

    def __truediv__(self, other):
        if type(other) is LiftedFloat or not isinstance(other, Tensor) and other == 0:
            _refuse("is divided by what may be 0")
        if isinstance(other, Tensor):  # a number by a tensor is a product with what reciprocal() gives
            return self._with(other.reciprocal(), lambda a, b: b * a)
        return self._with(other, lambda a, b: a / b)

    def __rtruediv__(self, other):
        _check_not_in_place()
        if not isinstance(other, Tensor):
            _refuse("divides a number")
        return self._with(other, lambda a, b: a / b, True)

    def __neg__(self):
        return LiftedFloat(-self.tensor)

    def __pos__(self):
        return self

    def __abs__(self):
        return LiftedFloat(abs(self.tensor))

    __pow__ = __rpow__ = _refused("is raised to a power, or is one")
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _refused(
        "is divided with a remainder")
    # Without __float__ and __index__, so that methods of tensors don't take it for a number, and leave it to those
    # above.
    __bool__ = __int__ = __round__ = __trunc__ = __floor__ = __ceil__ = _refused("is read as a number")
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refused("is compared")
    __hash__ = _refused("is a key")
    __repr__ = __str__ = __format__ = __reduce__ = _refused("is written as text")

    def __getattr__(self, name):
        _refuse(f"is asked for {name}")
