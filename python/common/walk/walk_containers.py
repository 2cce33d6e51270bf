"""How containers are walked: by their keys, length and elements. Immutable ones need no guards, only their elements
do."""

import types
from collections import OrderedDict, deque

from .guard import MISSING, has_plain_hash, is_value, keys_of
from .place import MAX_ELEMENTS

_TOO_LONG = "has {} elements, too many to compare at each call; keep them in a tensor"
_HASHED = "is an OrderedDict with keys whose __hash__ is the user's, which comparing its order would call; use a dict"


def _is_too_long(w, size: int, place) -> bool:
    if size > MAX_ELEMENTS:
        w.refuse(place, _TOO_LONG.format(size))
        return True
    return False


def walk_list(w, value, place) -> None:
    """A list or deque."""
    kind = list if isinstance(value, list) else deque
    size = kind.__len__(value)
    w.guard("length", value, None, size, f"len({place.path})")
    if _is_too_long(w, size, place):
        return
    for i in range(size):
        path = f"{place.path}[{i}]"
        w.hold("index", value, i, kind.__getitem__(value, i), path, place._replace(path=path))


def walk_tuple(w, value, place) -> None:
    """A tuple or frozenset: the identity that led here says which elements it has."""
    kind = tuple if isinstance(value, tuple) else frozenset
    for i, x in enumerate(kind.__iter__(value)):
        w.visit(x, place._replace(path=f"{place.path}[{i}]"))


def walk_slice(w, value, place) -> None:
    for name in ("start", "stop", "step"):
        w.visit(getattr(value, name), place._replace(path=f"{place.path}.{name}"))


def walk_set(w, value, place) -> None:
    elements = tuple(set.__iter__(value))
    w.guard("set", value, None, elements, place.path)
    if not _is_too_long(w, len(elements), place):
        walk_tuple(w, elements, place)


def walk_dict(w, value, place) -> None:
    if isinstance(value, OrderedDict) and not all(map(has_plain_hash, dict.__iter__(value))):
        w.refuse(place, _HASHED)
        return
    keys = keys_of(value)
    w.guard("keys", value, None, keys, f"keys of {place.path}")
    if _is_too_long(w, len(keys), place):
        return
    values = {id(k): v for k, v in dict.items(value)}
    for key in keys:
        name = repr(key) if is_value(key) else w.paths.get(id(key)) or f"<{type(key).__name__}>"
        path = f"{place.path}[{name}]"
        w.visit(key, place._replace(path=f"key {name} of {place.path}"))
        w.hold("item", value, key, values[id(key)], path, place._replace(path=path))


_WEAK = "is referred to weakly alone, and a recording would keep it alive; hold it where the function finds it, too"
_LASTING = (type, types.FunctionType, types.ModuleType)


def walk_reference(w, value, place) -> None:
    """A weak reference: immutable, as long as the walk's result keeps its target alive; one without target stays so."""
    target = value()
    if target is not None:
        w.result.alive.append(target)
        w.references.append((target, place._replace(path=f"{place.path}()")))


def visit_referred(w) -> None:
    """Visits the targets of weak references. An object that nothing else leads to may be let go by its holder, who
    isn't known."""
    while w.references:
        found, w.references = w.references, []
        for target, place in found:
            if not isinstance(target, _LASTING) and not w.has_visited(target):
                w.refuse(place, _WEAK)
            w.visit(target, place)
        w.run()


def walk_context_variable(w, value, place) -> None:
    """A variable of contextvars: what it has in this context. Its default never changes."""
    held = value.get(MISSING)
    w.guard("context", value, None, held, place.path)
    w.visit(_default_of(value) if held is MISSING else held, place._replace(path=f"{place.path}.get()"))


def _default_of(variable) -> object:
    try:
        return variable.get()
    except LookupError:
        return None
