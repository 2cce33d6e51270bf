"""Values, hostile objects, and guards evaluated in both ways, for the tests of guards."""

import collections
import enum
import struct
from collections import deque

import torch

from shunt_torch import _C
from shunt_torch.guard import MISSING, Guard, is_value, mismatch


def holds(*guards):
    """Whether all guards hold, by both evaluations, which have to agree on each."""
    one_by_one = [mismatch(g) is None for g in guards]
    for guard, held in zip(guards, one_by_one):
        assert (_C.StateGuards([tuple(guard)], MISSING).first_failed() < 0) == held, guard
    together = _C.StateGuards([tuple(g) for g in guards], MISSING)
    for _ in range(2):  # the second time past the versions of dicts
        assert together.first_failed() == (one_by_one.index(False) if False in one_by_one else -1)
    return all(one_by_one)


class Watched:
    """Guards that are kept, as a recording keeps them, and evaluated again."""

    def __init__(self, *guards):
        self.guards = guards
        self.state = _C.StateGuards([tuple(g) for g in guards], MISSING)

    def holds(self):
        one_by_one = [mismatch(g) is None for g in self.guards]
        failed = self.state.first_failed()
        assert failed == (one_by_one.index(False) if False in one_by_one else -1), self.guards[max(failed, 0)]
        return failed < 0


def guard(kind, owner, key=None, expected=None, by_value=None):
    return Guard(kind, owner, key, expected, is_value(expected) if by_value is None else by_value, "path")


# Objects whose every method raises, so that a test fails where one is called.


def _raises(name):
    def method(self, *args, **kwargs):
        raise AssertionError(f"{name} was called")

    return method


class Hostile:
    pass


for _name in ("__eq__", "__hash__", "__getattribute__", "__getattr__", "__len__", "__iter__", "__getitem__", "__bool__", "__contains__",
              "__repr__", "__index__", "__lt__"):
    setattr(Hostile, _name, _raises(_name))


class HostileInt(int):
    __eq__ = __hash__ = __index__ = _raises("a method of an int")


class HostileStr(str):
    __eq__ = _raises("__eq__")
    __hash__ = str.__hash__


class HostileList(list):
    __len__ = __iter__ = __getitem__ = __eq__ = _raises("a method of a list")


class HostileDeque(deque):
    __len__ = __iter__ = __getitem__ = __eq__ = _raises("a method of a deque")


class HostileDict(dict):
    __len__ = __iter__ = __getitem__ = __contains__ = get = keys = items = __eq__ = __missing__ = _raises("a method of a dict")


class HostileSet(set):
    __len__ = __iter__ = __contains__ = __eq__ = _raises("a method of a set")


class HostileEnum(enum.Enum):
    A = 1
    B = 2


HostileEnum.__eq__ = HostileEnum.__hash__ = _raises("a method of an enum")


class ByIdentity:
    """Equal to everything with the same number: only identity may count."""

    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return True

    def __hash__(self):
        return self.n


class Colour(enum.Enum):
    RED = 1
    BLUE = (1, 2.0)
    ODD = [1]


class Flags(enum.IntFlag):
    ONE = 1
    TWO = 2


NAN = struct.unpack("<d", struct.pack("<q", 0x7FF8000000000001))[0]
OTHER_NAN = struct.unpack("<d", struct.pack("<q", 0x7FF8000000000002))[0]

VALUES = [
    None, True, False, 0, 1, 2, -1, 2**70, 0.0, -0.0, 1.0, float("inf"), NAN, OTHER_NAN, 0j, 1j, complex(0.0, -0.0), complex(-0.0, 0.0),
    complex(NAN, 1), "", "a", "b", "1", b"", b"a", ..., NotImplemented, range(0), range(1, 1), range(3), range(0, 3, 1), range(0, 4, 2),
    range(0, 3, 2), (), (1,), (True,), (1.0,), (0.0,), (-0.0,), (NAN,), ((1, "a"), None), ((1, "b"), None), slice(None), slice(1),
    slice(True), slice(1.0), slice(0.0), slice(-0.0), slice(1, None), slice(1, (2, 3)), torch.float32, torch.float64, torch.device("cpu"),
    torch.device("cpu", 0), torch.device("meta"), torch.strided, torch.sparse_coo, torch.contiguous_format, torch.channels_last,
    torch.Size([]), torch.Size([1]), torch.Size([1, 2]), (1, 2), Colour.RED, Colour.BLUE, Flags.ONE, Flags.TWO, Flags.ONE | Flags.TWO,
    (Colour.RED,), (Colour.BLUE, 1), HostileEnum.A, HostileEnum.B, (HostileEnum.A,),
]  # fmt: skip
OBJECTS = [
    Colour.ODD, object(), object, [], [1], {}, set(), frozenset(), Hostile(), HostileInt(1), HostileInt(1), HostileStr("a"),
    (Hostile(), 1), ([],), slice([]), ByIdentity(1), ByIdentity(1), MISSING, (MISSING,), torch.zeros(1), torch.finfo(torch.float32), len,
    collections.namedtuple("Pair", "x y")(1, 2), type, abs,
]  # fmt: skip


def copy_of(value):
    """An equal object of the same type where Python can make one."""
    if type(value) is tuple:
        return tuple([copy_of(x) for x in value])
    if type(value) is slice:
        return slice(copy_of(value.start), copy_of(value.stop), copy_of(value.step))
    if type(value) is range:
        return range(value.start, value.stop, value.step)
    if type(value) in (float, complex):
        return -(-value) if value == value else struct.unpack("<d", struct.pack("<d", value))[0] if type(value) is float else value
    if type(value) in (str, bytes):
        return (value + value[:1])[: len(value)]
    if type(value) is int:
        return value + 2**80 - 2**80
    if type(value) is torch.Size:
        return torch.Size(list(value))
    return torch.device(str(value)) if type(value) is torch.device else value
