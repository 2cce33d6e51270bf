"""Floats that a compiled function reads from dictionaries, such as a group's learning rate, an object's attribute or a
global, and that took many values: inputs of its graph.

Note [Lifted reads]
The guard of such a float, of kind "number", holds whatever its value is, and writes it to a bytearray. A tensor over
these bytes is what the graph has captured, so each run reads the value that the guards found just before. While the
function is recorded, a LiftedFloat of that tensor stands in the dictionary, where other threads see
it, too.
"""

import contextlib

from shunt import _C
from shunt._lifted import LiftedFloat


class LiftedRead:
    """A place of a float: dictionary and key, and the tensor of no dimensions with its value."""

    __slots__ = ("guard", "tensor")

    def __init__(self, guard):
        self.guard = guard._replace(kind="number", expected=bytearray(8), by_value=False)
        self.tensor = _C.frombuffer(self.guard.expected, dtype=_C.float64).reshape(())


def is_float_item(guard):
    """Whether a guard expects a float in a dictionary."""
    return guard.kind == "item" and type(guard.expected) is float


def lift(guards, paths):
    """Lets floats at these paths have any value, in the list of guards. Returns the reads."""
    reads = []
    for i, guard in enumerate(guards):
        if guard.path in paths and is_float_item(guard):
            reads.append(LiftedRead(guard))
            guards[i] = reads[-1].guard
    return reads


@contextlib.contextmanager
def standing_in(reads):
    """A block in which LiftedFloats are where the floats are. Refused where the block writes to their places."""
    from shunt._walk.refusal import Refused
    before = [(r.guard.owner, r.guard.key, dict.get(r.guard.owner, r.guard.key), LiftedFloat(r.tensor)) for r in reads]
    for owner, key, _, lifted in before:
        dict.__setitem__(owner, key, lifted)
    written = None
    try:
        yield
    finally:
        for (owner, key, value, lifted), read in zip(before, reads):
            if dict.get(owner, key) is lifted:
                dict.__setitem__(owner, key, value)
            else:
                written = read.guard.path
    if written is not None:
        raise Refused("the function changes it, which a graph wouldn't do", written)
