"""How containers are walked: by their keys, length and elements. Immutable ones need no guards, only their elements do."""

from .guard import is_value, keys_of
from .place import MAX_ELEMENTS

_TOO_LONG = "has {} elements, too many to compare at each call; keep them in a tensor"


def _is_too_long(w, value, place) -> bool:
    if len(value) > MAX_ELEMENTS:
        w.refuse(place, _TOO_LONG.format(len(value)))
        return True
    return False


def walk_list(w, value, place) -> None:
    """A list or deque."""
    size = type(value).__len__(value)
    w.guard("length", value, None, size, f"len({place.path})")
    if _is_too_long(w, value, place):
        return
    for i in range(size):
        path = f"{place.path}[{i}]"
        w.hold("index", value, i, value[i], path, place._replace(path=path))


def walk_tuple(w, value, place) -> None:
    """A tuple or frozenset: the identity that led here says which elements it has."""
    for i, x in enumerate(tuple.__iter__(value) if isinstance(value, tuple) else value):
        w.visit(x, place._replace(path=f"{place.path}[{i}]"))


def walk_slice(w, value, place) -> None:
    for name in ("start", "stop", "step"):
        w.visit(getattr(value, name), place._replace(path=f"{place.path}.{name}"))


def walk_set(w, value, place) -> None:
    w.guard("set", value, None, frozenset(value), place.path)
    if not _is_too_long(w, value, place):
        walk_tuple(w, value, place)


def walk_dict(w, value, place) -> None:
    keys = keys_of(value)
    w.guard("keys", value, None, keys, f"keys of {place.path}")
    if _is_too_long(w, value, place):
        return
    for key in keys:
        name = repr(key) if is_value(key) else w.paths.get(id(key)) or f"<{type(key).__name__}>"
        path = f"{place.path}[{name}]"
        w.visit(key, place._replace(path=f"key {name} of {place.path}"))
        w.hold("item", value, key, dict.get(value, key), path, place._replace(path=path))


def walk_reference(w, value, place) -> None:
    """A weak reference: immutable, as long as the walk's result keeps its target alive; one without target stays so."""
    target = value()
    if target is not None:
        w.result.alive.append(target)
        w.visit(target, place._replace(path=f"{place.path}()"))
