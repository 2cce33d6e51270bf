"""Guards mean in C++ what shunt_torch/guard.py says, before and after each kind of change, and run no code of the user's."""

import abc
import contextvars
from collections import OrderedDict, defaultdict, deque

import torch
from guarding import (
    ByIdentity, Colour, Hostile, HostileDeque, HostileDict, HostileEnum, HostileInt, HostileList, HostileSet, HostileStr, NAN,
    OBJECTS, OTHER_NAN, VALUES, Watched, _raises, copy_of, guard, holds,
)  # fmt: skip

from shunt_torch import _C
from shunt_torch.guard import MISSING, Guard, has_plain_hash, is_value, keys_of, same_value


def test_what_counts_by_value():
    for x in VALUES + OBJECTS:
        assert _C.is_value(x) == is_value(x)
        assert _C.has_plain_hash(x) == has_plain_hash(x)
    assert all(map(is_value, VALUES)) and not any(map(is_value, OBJECTS))


def test_same_value():
    for x in VALUES + OBJECTS:
        for y in VALUES + OBJECTS:
            assert _C.same_value(x, y) == same_value(x, y)
            assert (x is y) <= same_value(x, y)
    for x in VALUES:
        assert _C.same_value(x, copy_of(x)) and same_value(x, copy_of(x))
    # Those of the list differ, every two of them, but for what is written twice.
    same = [(x, y) for i, x in enumerate(VALUES) for y in VALUES[i + 1 :] if same_value(x, y)]
    assert same == [(range(3), range(0, 3, 1))]


# --- each kind of guard ---


def everywhere(value):
    """Places that hold the value: a guard's kind, owner and key, and what sets the place and empties it (None: it can't be)."""
    d, od, items, queue, instance, slotted = {"k": value}, OrderedDict(k=value), [value], deque([value]), Plain(), Slotted()
    slotted.slot = value

    def f():
        return value

    cell, kind = f.__closure__[0], type("Kind", (), {"k": value})
    variable = contextvars.ContextVar("variable", default=8)
    variable.set(value)

    def set_cell(v):
        cell.cell_contents = v

    def empty_cell():
        del cell.cell_contents

    instance.k = value
    attributes = instance.__dict__
    return [
        ("item", d, "k", lambda v: d.__setitem__("k", v), lambda: d.pop("k")),
        ("item", od, "k", lambda v: od.__setitem__("k", v), lambda: od.pop("k")),
        ("item", attributes, "k", lambda v: setattr(instance, "k", v), lambda: delattr(instance, "k")),
        ("index", items, 0, lambda v: items.__setitem__(slice(None), [v]), items.clear),
        ("index", queue, 0, lambda v: (queue.clear(), queue.append(v)), queue.clear),
        ("cell", cell, None, set_cell, empty_cell),
        ("attribute", slotted, "slot", lambda v: setattr(slotted, "slot", v), lambda: delattr(slotted, "slot")),
        ("context", variable, None, variable.set, lambda: variable.set(MISSING)),
        ("type_attribute", kind, "k", lambda v: setattr(kind, "k", v), lambda: delattr(kind, "k")),
    ]


class Plain:
    pass


class Slotted:
    __slots__ = ("slot", "other")


def test_values_in_every_place():
    for value in VALUES + OBJECTS:
        for kind, owner, key, put, empty in everywhere(value):
            watched = Watched(guard(kind, owner, key, value))
            assert watched.holds()
            for other in (copy_of(value), value):
                put(other)
                assert watched.holds() == (other is value or is_value(value))
            for other in (VALUES + OBJECTS) if kind in ("item", "cell") else [None, 1, True, -0.0, Hostile(), MISSING]:
                put(other)
                assert watched.holds() == same_value(value, other)
            empty()
            assert not watched.holds() or value is MISSING
            put(value)
            assert watched.holds()


def test_missing_is_expected():
    for kind, owner, key, put, empty in everywhere(1):
        watched = Watched(guard(kind, owner, key, MISSING))
        assert not watched.holds()
        empty()
        assert watched.holds()
        put(None)
        assert not watched.holds()


def test_what_is_expected_is_ignored():
    cell = (lambda: cell).__closure__[0]
    for expected in (None, 1, MISSING, Hostile()):
        for by_value in (False, True):
            d = {"a": 1}
            watched = Watched(guard("missing", d, "b", expected, by_value), guard("missing", d, "c", expected, by_value))
            assert watched.holds()
            d["c"] = None
            assert not watched.holds()
            del d["c"]
            assert watched.holds()
            assert not holds(guard("empty_cell", cell, None, expected, by_value))


def test_empty_cell():
    def outer():
        def inner():
            return later

        cells.append(inner.__closure__[0])
        watched.append(Watched(guard("empty_cell", cells[0])))
        assert watched[0].holds()
        later = 1

    cells, watched = [], []
    outer()
    assert not watched[0].holds()
    del cells[0].cell_contents
    assert watched[0].holds()


def test_lists():
    for make in (list, deque, HostileList, HostileDeque):
        owner = make([1, "a", None])
        base = list if isinstance(owner, list) else deque
        watched = Watched(guard("length", owner, None, 3), *(guard("index", owner, i, v) for i, v in enumerate([1, "a", None])))
        assert watched.holds()
        base.append(owner, 1)
        assert not watched.holds()
        base.pop(owner)
        assert watched.holds()
        base.reverse(owner)
        assert not watched.holds()
        base.clear(owner)
        assert not watched.holds()
        assert not holds(guard("index", owner, 0, None)) and not holds(guard("index", owner, -1, None))


# --- dicts ---


def test_keys_in_their_order():
    for make in (dict, OrderedDict, HostileDict, lambda x: defaultdict(list, x)):
        d = make({"a": 1, "b": 2, 3: 3})
        pop = dict.pop if not isinstance(d, OrderedDict) else OrderedDict.pop
        watched = Watched(guard("keys", d, None, keys_of(d)))
        assert watched.holds()
        d["a"] = 5
        assert watched.holds()
        pop(d, "a")
        assert not watched.holds()
        d["a"] = 1
        assert not watched.holds()  # it is the last one now
        for key in ("b", 3):
            pop(d, key)
            d[key] = 1
        assert watched.holds()
        pop(d, 3)
        d[3.0] = 1
        assert not watched.holds()
        d["more"] = 1
        assert not watched.holds()


def test_the_order_of_an_ordered_dict():
    d = OrderedDict(a=1, b=2)
    watched = Watched(guard("keys", d, None, ("a", "b")), guard("item", d, "a", 1), guard("item", d, "b", 2))
    assert watched.holds() and watched.holds()
    d.move_to_end("a")
    assert list(dict.__iter__(d)) == ["a", "b"] and not watched.holds()
    d.move_to_end("b")
    assert watched.holds()
    d.move_to_end("b", last=False)
    assert not watched.holds()


def test_keys_of_every_type():
    keys = [x for x in VALUES if type(x) is not slice and "Hostile" not in repr(x)]
    for key in keys + [object(), len, int, torch.zeros(1), ByIdentity(7), Colour.ODD]:
        for make in (dict, OrderedDict):
            d = make({key: 1})
            if make is OrderedDict and not has_plain_hash(key):
                assert not holds(guard("keys", d, None, (key,)))
                continue
            watched = Watched(guard("keys", d, None, (key,)), guard("item", d, key, 1))
            assert watched.holds()
            d["other"] = 1
            assert not watched.holds()
            del d["other"]
            assert watched.holds()
            assert holds(guard("keys", d, None, (copy_of(key),))) == (copy_of(key) is key or is_value(key))
            for other in keys:
                assert holds(guard("keys", d, None, (other,))) == same_value(key, other)
            d.clear()
            assert not watched.holds()
            assert holds(guard("missing", d, key))


def test_keys_with_hashes_of_their_own():
    """Found by identity, wherever they stand, though others are equal to them."""
    keys = [ByIdentity(n) for n in range(5)] + [HostileEnum.A, (HostileEnum.B, 1), "a"]
    hashes = HostileEnum.__hash__, HostileEnum.__eq__
    HostileEnum.__hash__, HostileEnum.__eq__ = object.__hash__, object.__eq__
    try:
        d = {k: i for i, k in enumerate(keys)}
        backwards = {k: d[k] for k in reversed(keys)}
        absent = ByIdentity(99)
    finally:
        HostileEnum.__hash__, HostileEnum.__eq__ = hashes
    watched = Watched(guard("keys", d, None, tuple(keys)), *(guard("item", d, k, i) for i, k in enumerate(keys)), guard("missing", d, absent))
    assert watched.holds() and watched.holds()
    assert holds(*(guard("item", backwards, k, i) for i, k in enumerate(keys)))
    d["a"] = 8
    assert not watched.holds()
    d["a"] = 7
    assert watched.holds()


def test_change_and_undoing():
    """The count of a dict's changes shows both; that it changed and holds again is found by comparing."""
    d, other = {"a": 1, "b": [2]}, {"a": 1}
    watched = Watched(guard("keys", d, None, ("a", "b")), guard("item", d, "a", 1), guard("item", d, "b", d["b"]), guard("missing", d, "c"),
                      guard("item", other, "a", 1), guard("item", d, "a", 1))
    kept = d["b"]
    changes = [
        (lambda: d.update(a=2), lambda: d.update(a=1)),
        (lambda: d.update(a=True), lambda: d.update(a=1)),
        (lambda: d.update(b=[2]), lambda: d.update(b=kept)),
        (lambda: d.update(c=None), lambda: d.pop("c")),
        (lambda: (d.pop("a"), d.update(a=1)), lambda: (d.pop("b"), d.update(b=kept))),
        (lambda: other.clear(), lambda: other.update(a=1)),
        (lambda: other.update(a=1.0), lambda: other.update(a=1)),
    ]
    for change, undo in changes * 2:
        assert watched.holds() and watched.holds()
        change()
        assert not watched.holds() and not watched.holds()
        undo()
        assert watched.holds()
        change()
        undo()
        assert watched.holds()


def test_attributes_of_instances_are_counted():
    """Stores to attributes go past the dict's methods."""
    instance = Plain()
    for name in "abc":
        setattr(instance, name, 1)
    watched = Watched(guard("attribute", instance, "__dict__", instance.__dict__), guard("keys", instance.__dict__, None, ("a", "b", "c")),
                      *(guard("item", instance.__dict__, name, 1) for name in "abc"))

    def store(value):
        instance.b = value

    for _ in range(50):  # past specialisation
        assert watched.holds()
        store(2)
        assert not watched.holds()
        store(1)
    instance.d = 1
    assert not watched.holds()
    del instance.d
    assert watched.holds()
    instance.__dict__ = dict(instance.__dict__)
    assert not watched.holds()


def test_context_variables():
    def in_another(f):
        return contextvars.Context().run(f)

    for variable in (contextvars.ContextVar("a"), contextvars.ContextVar("a", default=1)):
        watched = Watched(guard("context", variable, None, MISSING))
        assert watched.holds() and in_another(watched.holds)
        token = variable.set(1)
        assert not watched.holds() and in_another(watched.holds)
        set_to_one = Watched(guard("context", variable, None, 1))
        assert set_to_one.holds() and not in_another(set_to_one.holds)
        variable.reset(token)
        assert watched.holds() and not set_to_one.holds()


# --- sets ---


def test_sets():
    thing, equal = ByIdentity(1), ByIdentity(1)
    for make in (set, HostileSet):
        for elements in ([], [1, "a"], [thing], [NAN, 0.0], [(1, 2), None, range(3), torch.float32], [Colour.RED, Colour.ODD, object]):
            owner = make(elements)
            watched = Watched(guard("set", owner, None, tuple(set.__iter__(owner))))
            assert watched.holds()
            order = [*map(id, set.__iter__(owner))]
            set.add(owner, "more")
            assert not watched.holds()
            set.discard(owner, "more")
            assert watched.holds() == (order == [*map(id, set.__iter__(owner))])  # its table has grown
            if elements:
                set.discard(owner, elements[0])
                assert not watched.holds()
    for one, other in [({1}, {True}), ({1}, {1.0}), ({0.0}, {-0.0}), ({(1,)}, {(True,)}), ({thing}, {equal}), ({NAN}, {OTHER_NAN}),
                       ({range(0)}, {range(1, 1)}), ({"a"}, {HostileStr("a")}), ({(0.0, 1)}, {(-0.0, 1)}), ({1, 2}, {1})]:
        assert holds(guard("set", one, None, tuple(one))) and holds(guard("set", other, None, tuple(other)))
        assert not holds(guard("set", one, None, tuple(other))) and not holds(guard("set", other, None, tuple(one)))
    for value in VALUES:
        if type(value) is not slice and "Hostile" not in repr(value):
            assert holds(guard("set", {value}, None, (copy_of(value),)))


def test_the_order_of_a_sets_elements():
    owner = {0, 8}  # which meet in a table of eight
    watched = Watched(guard("set", owner, None, tuple(owner)))
    assert watched.holds()
    order = tuple(owner)
    for first in (8, 0):
        owner.clear()
        owner.update([first])
        owner.add(8 - first)
        assert watched.holds() == (tuple(owner) == order)
    assert sorted([tuple({0, 8}), tuple({8, 0})]) == [(0, 8), (8, 0)]  # so one of the two differed


# --- attributes ---


def test_attributes():
    def f(a=1, *, b=2):
        return a + b

    def g():
        return 0

    watched = Watched(*(guard("attribute", f, n, getattr(f, n)) for n in ("__code__", "__defaults__", "__kwdefaults__", "__dict__")),
                      guard("attribute", f, "__class__", type(f)))
    assert watched.holds()
    f.__defaults__ = (1,)
    assert watched.holds()
    for name, value in [("__defaults__", (2,)), ("__defaults__", None), ("__kwdefaults__", {"b": 2}), ("__code__", g.__code__)]:
        old = getattr(f, name)
        setattr(f, name, value)
        assert not watched.holds()
        setattr(f, name, old)
        assert watched.holds()
    instance = Plain()
    watched = Watched(guard("attribute", instance, "__class__", Plain))
    instance.__class__ = type("Other", (), {})
    assert not watched.holds()
    # What an instance's dict, a property or a method gives is no attribute of this kind.
    instance.x = 1
    for name, owner in [("x", instance), ("f", type("C", (), {"f": lambda self: 1})()), ("p", type("C", (), {"p": property(_raises("p"))})())]:
        assert holds(guard("attribute", owner, name, MISSING)) and not holds(guard("attribute", owner, name, 1))


def test_attributes_of_types():
    base = type("Base", (), {"x": 1})
    kind = type("Kind", (base,), {"f": lambda self: 1, "p": property(_raises("p"))})
    watched = Watched(*(guard("type_attribute", kind, n, v) for n, v in [("x", 1), ("f", vars(kind)["f"]), ("p", vars(kind)["p"]), ("y", MISSING)]))
    assert watched.holds()
    for owner, name, value in [(base, "x", 2), (kind, "x", 2), (kind, "y", None), (base, "y", 1)]:
        had = vars(owner).get(name, MISSING)
        setattr(owner, name, value)
        assert not watched.holds()
        delattr(owner, name) if had is MISSING else setattr(owner, name, had)
        assert watched.holds()
    del base.x
    assert not watched.holds()


# --- no code of the user's ---


def test_hostile_objects_everywhere():
    x, y = Hostile(), Hostile()
    slotted = Slotted()
    slotted.slot = x
    cell = (lambda: x).__closure__[0]
    kind = type("Kind", (), {"k": x, "__getattribute__": _raises("__getattribute__"), "__class__": property(_raises("__class__"))})
    instance = kind()
    owners = [("item", HostileDict(k=x), "k"), ("index", HostileList([x]), 0), ("index", HostileDeque([x]), 0), ("cell", cell, None),
              ("attribute", slotted, "slot"), ("type_attribute", kind, "k")]
    for guard_kind, owner, key in owners:
        assert holds(Guard(guard_kind, owner, key, x, False, ""))
        for other in (y, 1, "a", None, HostileEnum.A, HostileInt(1), (1, x)):
            for by_value in (False, True):
                assert not holds(Guard(guard_kind, owner, key, other, by_value, ""))
    assert holds(Guard("attribute", instance, "__class__", kind, False, ""))
    attributes = object.__getattribute__(instance, "__dict__")
    assert holds(Guard("attribute", instance, "__dict__", attributes, False, ""))


# --- classes ---


def test_what_a_class_lacks():
    class Base:
        pass

    class Kind(Base):
        def method(self):
            pass

    names = ("__bool__", "__eq__", "scale")
    watched = Watched(guard("plain", Kind, None, names), guard("type_attribute", Kind, "method", vars(Kind)["method"]),
                      guard("length", Kind, None, len(vars(Kind))))
    assert watched.holds() and watched.holds()
    for owner in (Kind, Base):
        for name in names:
            setattr(owner, name, None)
            assert not watched.holds()
            delattr(owner, name)
            assert watched.holds() and watched.holds()
    Kind.other = 1  # one attribute more
    assert not watched.holds()
    del Kind.other
    assert watched.holds()
    Kind.__bases__ = (type("Other", (), {"scale": 1}),)
    assert not watched.holds()
    assert not holds(guard("plain", bool, None, ("__bool__", "__int__"))) and holds(guard("plain", bool, None, ("__ge",)))


def test_counters():
    watched = Watched(guard("counter", abc.get_cache_token, None, abc.get_cache_token()))
    assert watched.holds()
    abc.ABCMeta("Abstract", (), {}).register(Hostile)
    assert not watched.holds()
