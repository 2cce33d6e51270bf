"""Place: where a walk met an object; and a walk's limits."""

from __future__ import annotations

from .record import record


MAX_DEPTH = 4  # of instances that are neither modules, optimisers nor schedulers
MAX_ELEMENTS = 10_000  # of one container


@record
class Place:
    path: str  # as a user would write it
    depth: int  # attributes of such instances on the way here
    optional: bool  # no observed code names it: what can't be walked is no refusal
