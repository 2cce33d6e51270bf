"""Guards: facts about Python state that a recording depends on, and their reference evaluation.

A guard is flat: its owner is the object looked at (kept alive by the guard), and guards before it in a list say that
the owner is still what a name leads to. `mismatch` is the meaning of each kind; the evaluation in C++ is tested against
it. Evaluating a guard runs no code of the user's: no `__eq__`, no `__hash__` of a stored object, no property, no
overridden method of a container. MISSING as what is expected: nothing may be there.

    kind             owner                 holds while
    item             dict                  owner[key] is expected; a key that doesn't count by value is found by identity
    missing          dict                  key isn't in owner
    keys             dict                  tuple(owner) has the expected keys, in this order
    index            list, deque           owner[key] is expected
    length           list, deque, set      len(owner) is expected; of a type, that of its dict
    cell             cell of a closure     its contents are expected
    empty_cell       cell of a closure     it has no contents
    attribute        any object            its slot or C attribute `key` is expected; MISSING: one without value, or
                                           of another kind
    type_attribute   type                  the raw value that the MRO gives for key is expected; MISSING: none
    plain            type                  for each of the expected names the MRO gives what it gives for `object`,
                                           most often nothing
    counter          C function            what it gives, called without arguments, is expected; it runs no other code
    context          ContextVar            what it has in this context is expected; MISSING: nothing but its default
    set              set                   tuple(owner) has the expected elements, in this order

The kinds item, index, cell, attribute and type_attribute have a form with "_number" after the name. It holds while what
is there is a float, and writes its value, a double, to `expected`, a bytearray of 8. The package shunt_torch makes none
of them.
"""

from __future__ import annotations

import enum
import struct
import types
from collections import OrderedDict, deque

from . import library
from .record import record


class _Missing:
    """The type of MISSING: what an attribute without a value, a key that isn't there or an empty cell gives."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


@record
class Guard:
    kind: str
    owner: object
    key: object
    expected: object
    by_value: bool  # else by identity
    path: str  # as a user would write it


@record
class Refusal:
    path: str  # a place in Python state, or file:line
    reason: str  # a short sentence that says what to do instead


# Compared by value: immutable, and two equal ones can't be told apart but by their identity.
_VALUE_TYPES = frozenset(
    {
        type(None), bool, int, float, complex, str, bytes, range, type(...), type(NotImplemented),
        *library.VALUE_TYPES,
    }
)  # fmt: skip
_COMPOSITE_TYPES = frozenset({tuple, slice})


def is_value(x: object) -> bool:
    """Whether x counts by value: numbers, strings, the tensor library's constants, enums, and tuples and slices of
    these alone."""
    kind = type(x)
    if kind in _VALUE_TYPES:
        return True
    if kind in _COMPOSITE_TYPES:
        return all(map(is_value, x if kind is tuple else (x.start, x.stop, x.step)))
    # isinstance would read a property `__class__`.
    return issubclass(kind, enum.Enum) and is_value(object.__getattribute__(x, "_value_"))


def same_value(a: object, b: object) -> bool:
    """Whether two objects, a of those for which is_value holds, have the same type and value; floats to the bit."""
    kind = type(a)
    if a is b:
        return True
    if kind is not type(b):
        return False
    if kind is float:
        return struct.pack("<d", a) == struct.pack("<d", b)
    if kind is complex:
        return struct.pack("<dd", a.real, a.imag) == struct.pack("<dd", b.real, b.imag)
    if kind is tuple:
        return len(a) == len(b) and all(map(same_value, a, b))
    if kind is slice:
        return same_value((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    if kind is range:  # equal ranges may differ in how they were written: range(0) and range(1, 1)
        return (a.start, a.stop, a.step) == (b.start, b.stop, b.step)
    return kind in _VALUE_TYPES and a == b


def has_plain_hash(x: object) -> bool:
    """Whether hash(x) and a look-up of x among its like run no code of the user's, as those of enums may."""
    kind = type(x)
    if kind is tuple:
        return all(map(has_plain_hash, x))
    return kind in _VALUE_TYPES or type_lookup(kind, "__hash__") is object.__hash__


def keys_of(d: dict) -> tuple:
    """The keys in their order, whatever a subclass makes of iteration. (An OrderedDict has an order besides the
    dict's.)"""
    return tuple(OrderedDict.__iter__(d) if isinstance(d, OrderedDict) else dict.__iter__(d))


def type_lookup(kind: type, name: str) -> object:
    """The raw value that the MRO gives for the name, or MISSING."""
    for base in type.__dict__["__mro__"].__get__(kind):
        found = type.__dict__["__dict__"].__get__(base).get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def mismatch(guard: Guard) -> tuple[object, object] | None:
    """None if the guard holds, else what it expected and what was found."""
    is_number = guard.kind.endswith("_number")
    got = _LOOK[guard.kind.removesuffix("_number")](guard.owner, guard.key)
    expected = guard.expected
    if guard.kind in ("missing", "empty_cell"):
        return None if got is MISSING else (MISSING, got)
    if guard.kind in ("keys", "set"):
        return None if _same_keys(expected, got) else (expected, got)
    if guard.kind == "plain":
        added = [name for name in expected if type_lookup(got, name) is not type_lookup(object, name)]
        return (f"a class without {added[0]}", type_lookup(got, added[0])) if added else None
    if is_number:
        if type(got) is not float:
            return "a float", got
        expected[:] = struct.pack("=d", got)
        return None
    if guard.kind == "length":
        return None if expected == got else (expected, got)
    return None if got is expected or guard.by_value and same_value(expected, got) else (expected, got)


def _same_keys(a: tuple, b: tuple) -> bool:
    return len(a) == len(b) and all(x is y or is_value(x) and same_value(x, y) for x, y in zip(a, b))


def _look_item(owner: dict, key: object) -> object:
    if is_value(key) and has_plain_hash(key):
        return dict.get(owner, key, MISSING)
    return next((v for k, v in dict.items(owner) if k is key or is_value(key) and same_value(key, k)), MISSING)


def _look_keys(owner: dict, key: object) -> tuple:
    # An OrderedDict finds each next key by its hash.
    if isinstance(owner, OrderedDict) and not all(map(has_plain_hash, dict.__iter__(owner))):
        return (MISSING,)
    return keys_of(owner)


def _list_type(owner: object) -> type:
    return list if isinstance(owner, list) else set if isinstance(owner, set) else deque


def _look_index(owner: object, key: int) -> object:
    kind = _list_type(owner)
    return kind.__getitem__(owner, key) if 0 <= key < kind.__len__(owner) else MISSING


def _look_cell(owner, key: object) -> object:
    try:
        return owner.cell_contents
    except ValueError:
        return MISSING


def _look_attribute(owner: object, key: str) -> object:
    kind = type(owner)
    if key == "__class__":
        return kind
    found = type_lookup(kind, key)
    if type(found) not in (types.GetSetDescriptorType, types.MemberDescriptorType):
        return MISSING
    try:
        return found.__get__(owner, kind)
    except Exception:
        return MISSING


_LOOK = {
    "item": _look_item,
    "missing": _look_item,
    "keys": _look_keys,
    "index": _look_index,
    "length": lambda owner, key: len(vars(owner)) if isinstance(owner, type) else _list_type(owner).__len__(owner),
    "cell": _look_cell,
    "empty_cell": _look_cell,
    "attribute": _look_attribute,
    "type_attribute": type_lookup,
    "counter": lambda owner, key: owner(),
    "context": lambda owner, key: owner.get(MISSING),
    "plain": lambda owner, key: owner,
    "set": lambda owner, key: tuple(set.__iter__(owner)),
}
