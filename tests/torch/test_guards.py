"""Guards mean in C++ what shunt_torch/guard.py says, before and after each kind of change, and run no code of the user's."""

import collections
import contextvars
import enum
import random
import struct
from collections import OrderedDict, defaultdict, deque

import pytest
import torch

from shunt_torch import _C
from shunt_torch.guard import MISSING, Guard, has_plain_hash, is_value, keys_of, mismatch, same_value


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
            watched = Watched(guard("set", owner, None, frozenset(elements)))
            assert watched.holds()
            set.add(owner, "more")
            assert not watched.holds()
            set.discard(owner, "more")
            assert watched.holds()
            if elements:
                set.discard(owner, elements[0])
                assert not watched.holds()
    for one, other in [({1}, {True}), ({1}, {1.0}), ({0.0}, {-0.0}), ({(1,)}, {(True,)}), ({thing}, {equal}), ({NAN}, {OTHER_NAN}),
                       ({range(0)}, {range(1, 1)}), ({"a"}, {HostileStr("a")}), ({(0.0, 1)}, {(-0.0, 1)}), ({1, 2}, {1})]:
        assert holds(guard("set", one, None, frozenset(one))) and holds(guard("set", other, None, frozenset(other)))
        assert not holds(guard("set", one, None, frozenset(other))) and not holds(guard("set", other, None, frozenset(one)))
    for value in VALUES:
        if type(value) is not slice and "Hostile" not in repr(value):
            assert holds(guard("set", {value}, None, frozenset([copy_of(value)])))


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


# --- at random ---


def random_value(r, depth=0):
    if depth < 2 and r.random() < 0.2:
        return tuple(random_value(r, depth + 1) for _ in range(r.randrange(3)))
    return r.choice([v for v in VALUES if "Hostile" not in repr(v)] + [HostileEnum.A, Hostile.__init__, OBJECTS[1]])


def random_key(r):
    while True:
        key = random_value(r)
        if has_plain_hash(key) and "slice" not in repr(key):
            return key


def random_dict(r):
    d = r.choice([dict, OrderedDict, HostileDict])()
    for _ in range(r.randrange(6)):
        change_dict(r, d)
    return d


def change_dict(r, d):
    choice = r.randrange(4)
    present = list(keys_of(d))
    if choice == 0 and present:
        (OrderedDict if isinstance(d, OrderedDict) else dict).pop(d, r.choice(present))
    elif choice == 1 and present and isinstance(d, OrderedDict):
        d.move_to_end(r.choice(present))
    else:
        d[r.choice(present) if present and choice == 2 else random_key(r)] = random_value(r)


def random_guards(r, owner):
    if isinstance(owner, dict):
        key = random_key(r)
        items = [guard("item", owner, k, v) for k, v in dict.items(owner)]
        return [guard("keys", owner, None, keys_of(owner)), *items] + ([guard("missing", owner, key)] if dict.get(owner, key, MISSING) is MISSING else [])
    if isinstance(owner, set):
        return [guard("set", owner, None, frozenset(owner))]
    return [guard("length", owner, None, len(owner)), *(guard("index", owner, i, v) for i, v in enumerate(owner))]


def change(r, owner):
    if isinstance(owner, dict):
        return change_dict(r, owner)
    if isinstance(owner, set):
        return (set.add if r.random() < 0.5 else set.discard)(owner, random_key(r))
    value = random_value(r)
    if not owner or r.random() < 0.3:
        return owner.append(value)
    if r.random() < 0.3:
        return owner.pop()
    owner[r.randrange(len(owner))] = value


@pytest.mark.parametrize("seed", range(20))
def test_at_random(seed):
    r = random.Random(seed)
    held = failed = 0
    for _ in range(30):
        owners = [random_dict(r), random_dict(r), set(), [], deque()]
        for _ in range(4):
            change(r, r.choice(owners))
        guards = [g for o in owners for g in random_guards(r, o)]
        r.shuffle(guards) if r.random() < 0.3 else None
        watched = Watched(*guards)
        assert watched.holds()
        for _ in range(12):
            change(r, r.choice(owners))
            if watched.holds():
                held += 1
            else:
                failed += 1
                watched = Watched(*(g for o in owners for g in random_guards(r, o))) if r.random() < 0.7 else watched
    assert held > 10 and failed > 10
