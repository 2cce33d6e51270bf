"""Attributes of PyTorch that are replaced while calls are recorded, in all threads, for those that record."""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterable


NAMES: set[str] = set()  # of all such attributes, which guards leave alone


class Replaced:
    """`places`: (object, name, what makes the replacement of its attribute). They are replaced while any thread has
    entered."""

    def __init__(self, places: Iterable[tuple[Any, str, Callable]]):
        self._places = tuple(places)
        NAMES.update(name for _, name, _ in self._places)
        self._lock = threading.Lock()
        self._entered: dict[int, Any] = {}  # by thread
        self._saved: list[tuple[Any, str, Any]] = []

    def enter(self, value: Any) -> None:
        """`value`: what here() gives this thread."""
        with self._lock:
            if not self._entered:
                for place, name, make in self._places:
                    self._saved.append((place, name, vars(place).get(name)))
                    setattr(place, name, make(getattr(place, name)))
            self._entered[threading.get_ident()] = value

    def exit(self) -> None:
        with self._lock:
            del self._entered[threading.get_ident()]
            if self._entered:
                return
            for place, name, attribute in self._saved:
                if attribute is None:  # inherited
                    delattr(place, name)
                else:
                    setattr(place, name, attribute)
            self._saved.clear()

    def here(self) -> Any:
        """What this thread has entered with; None where it hasn't."""
        return self._entered.get(threading.get_ident())
