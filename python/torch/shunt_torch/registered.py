"""Results of classes that torch.utils._pytree knows, as the ModelOutput of transformers: taken apart and rebuilt by
what is registered.

Note [Rebuilt results]
A replay makes a new object by the registered unflatten function, from its tensors and a copy of the context. That is
the function's object only if flattening leaves nothing out, so the recorded one is rebuilt at once and compared: type,
attributes, elements, by identity.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch

from . import _C


class Rebuilt:
    """Stands for such an object in the template of a result: `unflatten(children, context)`, of templates both."""

    def __init__(self, kind: type, unflatten: Callable, children: list, context: Any):
        self.kind, self.unflatten, self.children, self.context = kind, unflatten, children, context


def definition_of(kind: type) -> Optional[Any]:
    """What is registered for exactly this class; None where nothing is."""
    return torch.utils._pytree.SUPPORTED_NODES.get(kind)


def left_out(value: Any, children: list, context: Any, unflatten: Callable) -> str:
    """What of an object its flattening leaves out; empty where nothing."""
    again = unflatten(list(children), context)
    if type(again) is not type(value):
        return "its class"
    for what, mine, its in (("attributes", _attributes(value), _attributes(again)),
                            ("elements", _elements(value), _elements(again))):
        if list(mine) != list(its):
            return f"some {what}"
        for name in mine:
            if mine[name] is not its[name] and not _C.same_value(mine[name], its[name]):
                return f"{what[:-1]} {name!r}" if what == "attributes" else f"element {name!r}"
    return ""


def _attributes(value: Any) -> dict:
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    return {**getattr(value, "__dict__", {}), **{name: getattr(value, name) for name in slots if hasattr(value, name)}}


def _slots(kind: type) -> list[str]:
    names = kind.__dict__.get("__slots__", ())
    names = (names,) if isinstance(names, str) else names
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _elements(value: Any) -> dict:
    if isinstance(value, dict):
        return dict(value)
    return dict(enumerate(value)) if isinstance(value, (list, tuple)) or type(value).__name__ == "deque" else {}
