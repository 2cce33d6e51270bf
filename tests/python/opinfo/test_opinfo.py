"""Operators, judged by PyTorch's table of them: results in five dtypes, methods, in place, out=, gradients, and errors.

Of each entry that Shunt has two drawn samples a dtype are judged, with SHUNT_TEST_LONG=1 all; of the first one also
what compile, vmap,
functionalize and fake tensors make of it. differences.json says where Shunt differs, on purpose or for want of
something, each with
its reason: a difference that is none any more fails, as one does that isn't listed. What only samples show that aren't
drawn stands
under "all samples".
"""

import json
import os
from pathlib import Path

import pytest
import torch  # noqa: F401  without it there is nothing to judge by

import copying
from judge import Entry
from served import SERVED

DIFFERENCES = json.loads(Path(__file__).with_name("differences.json").read_text())
# Entries that are served, of the table's; more is welcome, fewer is a loss.
SERVED_AT_LEAST = 526
MOST_DIFFERENCES = 40
# Of what PyTorch leaves open, or has wrong, which sample shows it depends on its version and machine: it may be absent.
_MAY_BE_ABSENT = "may be absent: "


def _found(name):
    found = {}
    for aspect, what in Entry(name, SERVED[name], every=copying.ALL).judge():
        found.setdefault(aspect, what)
    return found


def _listed(name):
    listed = DIFFERENCES.get(name, {})
    return set(listed.get("aspects", ())) | (set(listed.get("all samples", ())) if copying.ALL else set())


def _record(name, found):
    """SHUNT_OPINFO_FOUND names a file to which what differs is written, for making the list anew."""
    if found and "SHUNT_OPINFO_FOUND" in os.environ:
        with open(os.environ["SHUNT_OPINFO_FOUND"], "a", encoding="utf-8") as file:
            file.write(json.dumps([name, found]) + "\n")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SERVED)
def test_operator(name):
    found = _found(name)
    _record(name, found)
    listed = _listed(name)
    new = {aspect: what for aspect, what in found.items() if aspect not in listed}
    assert not new, "differs from PyTorch"
    if not DIFFERENCES.get(name, {}).get("reason", "").startswith(_MAY_BE_ABSENT):
        gone = [aspect for aspect in listed if aspect not in found]
        assert not gone, "differences.json lists what is no difference any more"


def test_what_is_listed():
    assert DIFFERENCES.keys() <= SERVED.keys(), "differences.json has entries that aren't served"
    assert len(DIFFERENCES) <= MOST_DIFFERENCES
    for name, listed in DIFFERENCES.items():
        assert listed.keys() <= {"aspects", "all samples", "reason"} and len(listed) >= 2, name
        assert len(listed["reason"]) > 10, name


def test_how_many_are_served():
    assert len(SERVED) >= SERVED_AT_LEAST
