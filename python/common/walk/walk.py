"""walk(): everything that a call of user code can read, as guards, tensors, and places that can't be walked.

From the roots and from the globals of all observed code, objects are visited breadth first, so that a guard follows
those that lead to its owner. How an object is walked depends on its class: see walk_containers, walk_functions,
walk_instances.

Note [Names decide]
Modules of nn, optimisers and schedulers are walked whole: the library reads their attributes by computed names. Of all
other objects, classes and Python modules only those attributes are looked at that observed user code names
(Summary.names), at any place: the code that reads an attribute needn't be the code that found the object. Absence
counts where it matters: a name that the class has and an instance could shadow, one asked for by getattr or hasattr,
one that the code assigns. Of classes, the library's too, it matters of all names that code uses and of special methods,
which run without being named: anybody can give a class a property or a `__bool__`.
"""

from __future__ import annotations

import abc
import enum
from collections import deque
from types import CodeType

from . import kinds, library, special_names
from .code_facts import nested
from .guard import MISSING, Guard, Refusal, is_value, mismatch
from .observe import Observed
from .place import MAX_DEPTH, Place
from .walk_containers import visit_referred
from .walk_functions import walk_functions_of_library, walk_globals, walk_settings
from .walk_instances import walk_instance_names, walk_tensor_classes
from .record import record

__all__ = ["Guard", "MISSING", "Refusal", "Walk", "mismatch", "walk"]

@record
class Walk:
    guards: list[Guard]
    tensors: list[tuple[str, library.Tensor]]  # each once, in the order in which they were found
    refusals: list[Refusal]
    functions: set[CodeType]  # code whose function object was found
    alive: list[object]  # targets of weak references: while they live, the references' identity says all


class Walker:
    def __init__(self, observed: Observed) -> None:
        self.observed = observed
        self.seen = observed.summary
        self.result = Walk([], [], [], set(), [])
        self.code_ids: set[int] = set()  # of result.functions: equal code may be in several files
        self.class_names = self.seen.names | self.seen.called | self.seen.library_called | special_names.NAMES
        self.references: list[tuple[object, Place]] = []  # targets of weak references
        # Attributes that instances have, which classes mustn't take over.
        self.instance_names: dict[type, set[str]] = {}
        self._grouped: dict[int, list[Guard]] = {}  # by owner
        self._guarded: set[tuple] = set()
        self._visited: dict[int, bool] = {}  # by id: whether the place was optional
        self.paths: dict[int, str] = {}
        self._queues = [deque() for _ in range(MAX_DEPTH + 2)]
        self._handlers: dict[type, object] = {}
        self._kept: list[object] = []
        self.shapes: dict[type, object] = {}  # see walk_instances
        self.tensor_ids: set[int] = set()
        absent = self.seen.stored | self.seen.tested
        self.tensor_absent = sorted(n for n in absent if not hasattr(library.TENSOR_CLASSES[-1], n))
        self._refused: set[tuple] = set()

    def guard(self, kind: str, owner: object, key: object, expected: object, path: str) -> None:
        if self._is_new(kind, owner, key):
            self.result.guards.append(Guard(kind, owner, key, expected, is_value(expected), path))

    def guard_module(self, attributes: dict, name: str, value: object, path: str) -> None:
        """Guards an attribute of a module of others."""
        self.guard_grouped("item", attributes, name, value, path)

    def guard_grouped(self, kind: str, owner: object, key: object, expected: object, path: str) -> None:
        """Guards of the same dict or class stand together, and cost as much as one while it is unchanged."""
        if self._is_new(kind, owner, key):
            guard = Guard(kind, owner, key, expected, is_value(expected), path)
            self._grouped.setdefault(id(owner), []).append(guard)

    def _is_new(self, kind: str, owner: object, key: object) -> bool:
        name = (kind, id(owner), key if type(key) in (str, int) else id(key))
        if name in self._guarded:
            return False
        self._guarded.add(name)
        return True

    def hold(self, kind: str, owner: object, key: object, value: object, path: str, place: Place) -> None:
        """Guards that the owner has the value there, and visits the value, which is at `place`."""
        self.guard(kind, owner, key, value, path)
        self.visit(value, place)

    def visit(self, value: object, place: Place) -> None:
        """Walks an object later: once, and again if what was optional turns out to be needed."""
        if is_value(value):
            self._visit_members(value, place)
            return
        self._queue(value, place)

    def _visit_members(self, value: object, place: Place) -> None:
        """The enums' members in what counts by value: users may give them attributes, which are walked."""
        if isinstance(value, enum.Enum):
            self._queue(value, place)
        elif type(value) is tuple:
            for x in value:
                self._visit_members(x, place)
        elif type(value) is slice:
            self._visit_members((value.start, value.stop, value.step), place)

    def _queue(self, value: object, place: Place) -> None:
        key = id(value)
        if key not in self._visited:
            self._kept.append(value)  # an id names the object as long as it lives
            self.paths[key] = place.path
        elif place.optional or not self._visited[key]:
            return
        self._visited[key] = place.optional
        self._queues[min(place.depth, MAX_DEPTH + 1)].append((value, place))

    def has_visited(self, value: object) -> bool:
        return is_value(value) or id(value) in self._visited

    def refuse(self, place: Place, reason: str) -> None:
        if not place.optional and (place.path, reason) not in self._refused:
            self._refused.add((place.path, reason))
            self.result.refusals.append(Refusal(place.path, reason))

    def run(self) -> None:
        """Visits what is queued, what lies under fewer instances first."""
        while True:
            queue = next((q for q in self._queues if q), None)
            if queue is None:
                return
            value, place = queue.popleft()
            kind = type(value)
            handler = self._handlers.get(kind)
            if handler is None:
                handler = self._handlers[kind] = kinds.handler_of(kind)
            handler(self, value, place)


def walk(roots: list[tuple[str, object]], observed: Observed) -> Walk:
    w = Walker(observed)
    for path, value in roots:
        w.visit(value, Place(path, 0, False))
    for path, hooks in library.global_hooks():
        w.visit(hooks, Place(path, 0, False))
    for variable in observed.context_variables:
        w.visit(variable, Place(f"context variable {variable.name}", 0, False))
    walk_globals(w)
    walk_tensor_classes(w)
    walk_functions_of_library(w)
    walk_settings(w)
    w.run()
    visit_referred(w)
    # Of abc, which a later register() answers otherwise.
    if not w.seen.called.isdisjoint(("__instancecheck__", "__subclasscheck__")):
        w.guard("counter", abc.get_cache_token, None, abc.get_cache_token(), "the classes registered with abstract "
                                                                             "ones")
    walk_instance_names(w)
    for guards in w._grouped.values():
        w.result.guards.extend(guards)
    _refuse_lost_closures(w)
    return w.result


def _refuse_lost_closures(w: Walker) -> None:
    """Code that reads a closure which the walk hasn't found; the cell of `__class__`, made by the compiler, never
    changes."""
    inner = {id(c) for code, _ in w.observed.user_codes() for c in nested(code) if c is not code}
    for code, _ in w.observed.user_codes():
        lost = [name for name in code.co_freevars if name != "__class__"]
        if lost and id(code) not in w.code_ids and id(code) not in inner:
            where = f"{code.co_name} ({code.co_filename}:{code.co_firstlineno})"
            w.refuse(
                Place(where, 0, False),
                f"reads {', '.join(lost)} from a closure that can't be found; pass the function as an argument or make "
                "it a global",
            )
