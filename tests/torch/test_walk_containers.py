"""Walks of containers, what counts by value, and what can't be compared."""

import collections
import contextvars
import random
import types
import weakref

import pytest
import torch
from walking import Money, X, changed, changed_by_call, refusals, walk_of

HERE = __file__


# Values.


@pytest.mark.parametrize(
    "before, equal, other",
    [
        (0.0, 0.0, -0.0), (float("nan"), float("nan"), 1.0), (1, 1, 1.0), (1, 1, True), (1j, 1j, 2j), ("ab", "a" + "b", "b"),
        (b"ab", bytes([97, 98]), b"b"), (torch.float32, torch.float32, torch.float64), (slice(1, 2), slice(1, 2), slice(1, 3)),
        (torch.device("cpu"), torch.device("cpu"), torch.device("meta")), (torch.Size([1, 2]), torch.Size([1, 2]), (1, 2)),
        (range(3), range(3), range(0, 3, 2)), (range(0), range(0), range(1, 1)), (..., ..., None),
        ((1, (2.0, "a")), tuple([1, tuple([2.0, "a"])]), (1, (2, "a"))), (torch.strided, torch.strided, torch.sparse_coo),
        (torch.contiguous_format, torch.contiguous_format, torch.channels_last), ((0.0,), (0.0,), (-0.0,)),
    ],
)  # fmt: skip
def test_values(before, equal, other):
    holder = types.SimpleNamespace(value=before)

    def step(x):
        return x if holder.value is None else x + 1

    result = walk_of(step, X)
    holder.value = equal
    assert changed(result) == []
    holder.value = other
    assert changed(result) == ["holder.value"]


# Containers.


@pytest.mark.parametrize(
    "make, change, path",
    [
        (lambda: {"a": 1, "b": 2}, lambda d: d.update(a=3), "held['a']"),
        (lambda: {"a": 1, "b": 2}, lambda d: d.update(c=3), "keys of held"),
        (lambda: {"a": 1, "b": 2}, lambda d: d.update(a=d.pop("a")), "keys of held"),  # order
        (lambda: {"a": 1, "b": 2}, lambda d: d.update(a=1), None),
        (lambda: {1: 1}, lambda d: (d.clear(), d.update({True: 1})), "keys of held"),
        (lambda: {1: 1}, lambda d: (d.clear(), d.update({1: 1})), None),
        (lambda: collections.OrderedDict(a=1, b=2), lambda d: d.move_to_end("a"), "keys of held"),
        (lambda: collections.defaultdict(list, a=[1]), lambda d: d["a"].append(1), "len(held['a'])"),
        (lambda: collections.Counter("aab"), lambda d: d.update("a"), "held['a']"),
        (lambda: [1, [2]], lambda d: d[1].append(1), "len(held[1])"),
        (lambda: [1, 2], lambda d: d.reverse(), "held[0]"),
        (lambda: collections.deque([1, 2]), lambda d: d.rotate(), "held[0]"),
        (lambda: collections.deque([1, 2]), lambda d: d.pop(), "len(held)"),
        (lambda: {1, 2}, lambda d: d.add(3), "held"),
        (lambda: {1, 2}, lambda d: (d.remove(1), d.add(True)), "held"),
        (lambda: {1, 2}, lambda d: (d.remove(1), d.add(1)), None),
        (lambda: ([1], 2), lambda d: d[0].append(1), "len(held[0])"),
        (lambda: frozenset([1]), lambda d: None, None),
        (lambda: slice([1], None), lambda d: d.start.append(1), "len(held.start)"),
        (lambda: bytes(3), lambda d: None, None),
        (lambda: weakref.ref(Money), lambda d: None, None),
    ],
)
def test_containers(make, change, path):
    held = make()

    def step(x):
        return x if held is None else x + 1

    result = walk_of(step, X)
    change(held)
    assert (path in changed(result)) if path else changed(result) == []


def test_objects_as_keys_and_elements_count_by_identity():
    class Equal:
        def __eq__(self, other):
            raise AssertionError("a guard ran a user's code")

        def __hash__(self):
            return 1

    one, two = Equal(), Equal()
    held = {one: 1}, {one}

    def step(x):
        return x if held is None else x + 1

    result = walk_of(step, X)
    held[0].clear()
    held[0][two] = 1
    held[1].clear()
    held[1].add(two)
    guards = [g for g in result.guards if g.kind in ("keys", "set")]
    assert {"keys of held[0]", "held[1]"} == set(changed(result._replace(guards=guards)))


def test_long_containers_are_refused():
    held = [0] * 20_000

    def step(x):
        return x + held[0]

    assert "20000 elements" in refusals(step, X)[0]


def test_a_cycle():
    held = []
    held.append(held)

    def step(x):
        return x + len(held)

    assert changed_by_call(step, X) == []


def test_subclasses_of_containers():
    class Named(dict):
        scale = 2.0

    held = Named(a=1)
    held.factor = 3.0

    def step(x):
        return x * held["a"] * held.scale * held.factor

    result = walk_of(step, X)
    held.factor = 4.0
    held["a"] = 2
    assert changed(result) == ["held['a']", "held.factor"]


def test_a_weak_reference_keeps_its_target():
    holders = [Money(2)]
    held = weakref.ref(holders[0])

    def step(x):
        return x * held().n * len(holders)

    result = walk_of(step, X)
    holders[0].n = 3
    assert changed(result) == ["holders[0].n"]
    holders.clear()
    assert held() is not None
    assert "weakly alone" in refusals(step, X)[0]


# Extension types and NumPy.


def test_numpy_arrays_are_refused():
    import numpy

    held = numpy.zeros(3)

    def step(x):
        return x + held[0]

    assert "NumPy array" in refusals(step, X)[0]


def test_numpy_scalars_and_dtypes_are_constants():
    import numpy

    held = [numpy.float64(2.0), numpy.dtype("f8")]

    def step(x):
        return x * float(held[0])

    result = walk_of(step, X)
    held[0] = numpy.float64(3.0)
    assert changed(result) == ["held[0]"]


def test_numpy_functions_that_no_profiler_sees_are_refused():
    import numpy as np

    def step(x):
        return x * np.sin(1.0)

    def allowed(x):
        return x if isinstance(x, np.ndarray) else x + 1

    assert any(".sin: calls into C code" in r for r in refusals(step, X))
    assert refusals(allowed, X) == []


def test_numpy_functions_of_a_global_module(monkeypatch):
    import numpy

    scope = {"np": numpy}
    exec("def step(x):\n  return x * np.random.rand()\ndef allowed(x):\n  return x.sin() if isinstance(x, np.ndarray) else x", scope)
    assert any(r.startswith("np.random.rand: ") for r in refusals(scope["step"], X))
    assert refusals(scope["allowed"], X) == []


def test_extension_types_are_refused():
    import array
    import threading

    for held in (array.array("f", [1.0]), threading.Lock(), memoryview(b"a"), bytearray(3), types.MappingProxyType({}), open(HERE)):

        def step(x, held=held):
            return x if held is None else x + 1

        assert "made in C" in refusals(step, X)[0] or "position" in refusals(step, X)[0]


def test_tensors_that_are_keys():
    key = torch.nn.Parameter(torch.ones(3))
    held = {key: 1.0}

    def step(x):
        return x * next(iter(held))

    result = walk_of(step, X)
    assert any(t is key for _, t in result.tensors)


def test_a_weak_reference_to_what_needs_no_guards():
    def target():
        pass

    held = weakref.ref(target)

    def step(x):
        return x if held() is None else x + 1

    result = walk_of(step, X)
    del target
    assert held() is not None
    assert changed(result) == []
    del result
    assert held() is None


class Named:
    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return self.name == other.name


def test_an_ordered_dict_whose_keys_hash_by_code():
    weights = collections.OrderedDict({Named("a"): 1})

    def step(x):
        return [x * w for w in weights.values()]

    assert refusals(step, X) == [
        "weights: is an OrderedDict with keys whose __hash__ is the user's, which comparing its order would call; use a dict"
    ]


MODE = contextvars.ContextVar("mode", default=2.0)
UNSET = contextvars.ContextVar("unset")


def test_context_variables():
    def step(x):
        token = UNSET.set(x)
        out = UNSET.get() * MODE.get()
        UNSET.reset(token)
        return out

    result = walk_of(step, X)
    token = MODE.set(3.0)
    assert changed(result) == ["context variable mode"]
    MODE.reset(token)
    assert changed(result) == []
    UNSET.set(1)
    assert changed(result) == ["context variable unset"]
    assert changed_by_call(lambda x: MODE.set(4.0), X, calls=1) == []  # it had that value before
    assert changed_by_call(lambda x: MODE.set(MODE.get() + 1), X) == ["context variable mode"]
