"""Floats that a compiled function reads from closures, globals, attributes, lists and dictionaries, such as a group's
learning rate, and that took many values: inputs of its graph.

Note [Lifted reads]
The guard of such a float, of kind "item_number" for one in a dictionary, holds for any value, and writes it to a
bytearray. A tensor over these bytes is what the graph has captured, so each run reads the value that the guards found
just before. While the function is recorded, a LiftedFloat of that tensor stands in the float's place, where other
threads see it, too.
"""

import contextlib
import types

from shunt import _C
from shunt._lifted import Floats, LiftedFloat


class LiftedRead:
    """A place of a float, by its guard, and the tensor of no dimensions with its value."""

    __slots__ = ("guard", "tensor", "place")

    def __init__(self, guard):
        self.place = _place_of(guard)
        self.guard = guard._replace(kind=f"{guard.kind}_number", expected=bytearray(8), by_value=False)
        self.tensor = _C.frombuffer(self.guard.expected, dtype=_C.float64).reshape(())


class _Place:
    """Where Python keeps a float: how to read and to set it. Two guards of one place have equal keys."""

    __slots__ = ("key", "get", "set")

    def __init__(self, owner, name, get, set):
        self.key, self.get, self.set = (id(owner), name), get, set


def _place_of(guard):
    owner, key = guard.owner, guard.key
    if guard.kind == "item":
        return _Place(owner, key, lambda: dict.get(owner, key), lambda value: dict.__setitem__(owner, key, value))
    if guard.kind == "index":
        kind = list if isinstance(owner, list) else _deque()
        return _Place(owner, key, lambda: kind.__getitem__(owner, key),
                      lambda value: kind.__setitem__(owner, key, value))
    if guard.kind == "cell":
        return _Place(owner, None, lambda: owner.cell_contents, lambda value: setattr(owner, "cell_contents", value))
    if guard.kind == "type_attribute":
        base = _base_with(owner, key)
        return _Place(base, key, lambda: vars(base).get(key), lambda value: type.__setattr__(base, key, value))
    slot = vars(_base_with(type(owner), key))[key]
    return _Place(owner, key, lambda: slot.__get__(owner), lambda value: slot.__set__(owner, value))


def _held_at(place):
    try:
        return place.get()
    except (AttributeError, IndexError, ValueError):
        return None  # the function has deleted it


def _deque():
    from collections import deque
    return deque


def _base_with(kind, name):
    return next(base for base in type.__dict__["__mro__"].__get__(kind) if name in vars(base))


def is_float_place(guard):
    """Whether a guard expects a float in a place where a LiftedFloat can be."""
    if type(guard.expected) is not float:
        return False
    if guard.kind == "type_attribute":
        return bool(_base_with(guard.owner, guard.key).__flags__ & (1 << 9))  # made in Python
    if guard.kind == "attribute":
        from shunt._walk.guard import type_lookup
        slot = type_lookup(type(guard.owner), guard.key)
        return type(slot) is types.MemberDescriptorType and bool(slot.__objclass__.__flags__ & (1 << 9))
    return guard.kind in ("item", "index", "cell")


def lift(guards, paths):
    """Lets floats at these paths have any value, in the list of guards. Returns the reads."""
    reads = []
    for i, guard in enumerate(guards):
        if guard.path in paths and is_float_place(guard):
            reads.append(LiftedRead(guard))
            guards[i] = reads[-1].guard
    return reads


def record(function, args, kwargs, names, reads, observed, line_of):
    """Runs the function on what stands for its tensors and for floats, whose names by path are `names`. Returns its
    result, and what was refused of a float: paths and the reason, or None."""
    floats = Recorded(names)
    for i, value in enumerate(args):
        floats.find(value, f"args[{i}]")
    for key, value in kwargs.items():
        floats.find(value, key)
    result = None
    try:
        with floats.standing_in(reads), observed.watching():
            result = function(*args, **kwargs)
        if observed.asks_types():
            floats.refuse(tuple(names), "may be given to type(), which knows what stands for it", "")
        floats.check(result)
    except Exception as error:
        floats.note(error, line_of)
        if floats.refused is None:
            raise
    return result, floats.refused


class Recorded(Floats):
    """The floats of one recording, and what becomes of them."""

    __slots__ = ()

    def find(self, value, path):
        if type(value) is LiftedFloat:
            value.paths, value.floats = (path,), self
        elif isinstance(value, (tuple, list)):
            for i, inner in enumerate(value):
                self.find(inner, f"{path}[{i}]")
        elif type(value) is dict:
            for key, inner in value.items():
                self.find(inner, f"{path}[{key!r}]")

    @contextlib.contextmanager
    def standing_in(self, reads):
        """A block in which LiftedFloats are where the floats are. Refused where the block writes to their places."""
        stands = {}  # by place: two classes may have an attribute from one base
        for r in reads:
            if r.place.key not in stands:
                stands[r.place.key] = r, r.place.get(), LiftedFloat(r.tensor, (r.guard.path,), self)
        for read, _, lifted in stands.values():
            read.place.set(lifted)
        written = None
        try:
            yield
        finally:
            for read, value, lifted in stands.values():
                if _held_at(read.place) is lifted:
                    read.place.set(value)
                else:
                    written = read.guard.path
        if written is not None:
            self.refuse((written,), "is changed by the function, which no graph would do", "")

    def check(self, result):
        """Refuses a float in what the function returns."""
        todo, seen = [result], set()
        while todo:
            value = todo.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if type(value) is LiftedFloat:
                self.refuse(value.paths, "is returned", "")
            elif isinstance(value, (tuple, list)):
                todo += value
            elif type(value) is dict:
                todo += value.values()

    def note(self, error, line_of):
        """A function of C's that doesn't take a LiftedFloat says so, but not which."""
        seen = error
        while seen is not None and "LiftedFloat" not in str(seen):
            seen = seen.__cause__ or seen.__context__
        if self.refused is None and seen is not None:
            names = " or ".join(self.names.values())
            self.refused = tuple(self.names), f"{line_of(seen)[0]}: the float {names} is read as a number"
