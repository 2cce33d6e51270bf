"""What bytecode says about names: globals with their attributes, assignments, constant names of getattr."""

import math  # noqa: F401

import pytest
import walking  # noqa: F401

from shunt_torch.code_facts import attributes_asked_for, facts_of, string_constants


class Uses:
    def all_of_it(self, other, v):
        import os.path  # noqa: F401

        self.n += 1
        self.m = other.t = v
        del other.z
        global MADE
        MADE = 3
        utils.SCALE.real, math.sqrt(v)  # noqa: F821, B018
        return [lambda: helper(q) for q in other]  # noqa: F821


FACTS = facts_of(Uses.all_of_it.__code__)


def test_chains():
    assert FACTS.chains == {("MADE",), ("utils", "SCALE", "real"), ("math", "sqrt"), ("helper",)}


def test_names():
    assert {"n", "m", "t", "z", "MADE", "utils", "SCALE", "helper"} <= FACTS.names
    assert "q" not in FACTS.names


def test_assignments():
    assert FACTS.stored_in_self - {"m"} == {"n"}  # self.m = other.t = v: either is right
    assert FACTS.stored - {"m"} == {"t", "z"}


def test_imports():
    assert FACTS.imports == {"os.path"}


def test_functions_passed_on():
    facts = facts_of((lambda x: list(map(print, x)) + [len(x), math.sqrt(2), list(map(math.sin, x))]).__code__)
    assert ("print",) in facts.escaped and ("math", "sin") in facts.escaped
    assert ("len",) not in facts.escaped and ("math", "sqrt") not in facts.escaped


def match_class(x):
    match x:
        case Uses(n=1):
            return 1


@pytest.mark.parametrize(
    "function, is_open",
    [
        (lambda x: x.n, False),
        (lambda x: x.__dict__, True),
        (lambda x: object.__getattribute__(x, "n"), True),
        (lambda x: list(map(getattr, x, "a")), True),
        (lambda x: [getattr(x, "a")], False),
        (lambda x: (lambda: x.__dict__), True),
        (match_class, True),
    ],
)
def test_attributes_by_any_name(function, is_open):
    assert facts_of(function.__code__).is_open is is_open


@pytest.mark.parametrize(
    "function, names",
    [
        (lambda x, n, d: (getattr(x, "a"), getattr(x, "b", n + 1)), ["a", "b"]),
        (lambda x, n, d: (getattr(x.y, "a"), getattr(d["k"], "e"), getattr(n(x, d), "f")), ["a", "e", "f"]),
        (lambda x, n, d: getattr(x, "a", getattr(x, "b", None)), ["a", "b"]),
        (lambda x, n, d: [getattr(q, "a", 0) for q in x], ["a"]),
        (lambda x, n, d: getattr(x, "a" + n), None),
        (lambda x, n, d: getattr(x, "a" + n, 3), None),
        (lambda x, n, d: getattr(x, "a" if n else "b"), None),
        (lambda x, n, d: getattr(x, n or "b"), None),
        (lambda x, n, d: getattr(x, f"a{n}"), None),
        (lambda x, n, d: getattr(x, "a".lower()), None),
        (lambda x, n, d: getattr(x, n), None),
        (lambda x, n, d: (getattr(x, "a"), getattr(x, n)), None),
        (lambda x, n, d: getattr(*x), None),
        (lambda x, n, d: x.getattr, None),
        (lambda x, n, d: x, None),
    ],
)
def test_constant_names_of_getattr(function, names):
    assert attributes_asked_for(function.__code__, "getattr") == names


def test_string_constants():
    found = string_constants((lambda x: [x + "a" for _ in ("b", "c")] + [lambda: "d"]).__code__)
    assert {"a", "b", "c", "d"} <= found
