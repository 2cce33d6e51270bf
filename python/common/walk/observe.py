"""Observed: which code runs in a call, and which C functions it calls, by sys.setprofile.

Code of the standard library counts as the user's where user code called it, and as the tensor library's where that did.
Only the thread that watches is seen; that another one starts is refused.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from collections import abc

from . import c_calls, library, origin
from .code_facts import Facts, asks_type, attributes_asked_for, attributes_in_format, facts_of, string_constants
from .guard import Refusal
from .refusal import source_at

# Of these files, computed names are of no user's attributes, but of functions being wrapped and the like.
_HARMLESS = frozenset({"functools.py", "contextlib.py", "typing.py", "enum.py", "abc.py", "types.py",
                       "_collections_abc.py"})


class Observed:
    def __init__(self) -> None:
        self._origins: dict[int, tuple[types.CodeType, str]] = {}  # by id: equal code may be in several files
        self._user: dict[int, types.CodeType] = {}
        self._library: dict[int, types.CodeType] = {}
        self._globals: dict[int, list[dict]] = {}
        self._calls: dict[tuple, tuple[types.CodeType, int, object]] = {}  # C functions refused: where each was called
        self._variables: dict[int, object] = {}  # context variables that were read or set
        self._warnings: dict[tuple, tuple[types.CodeType, int]] = {}  # where calls of the library's warned
        self._effects: list[tuple[types.CodeType, int, str]] = []
        self._asked: dict[tuple, tuple[types.CodeType, object]] = {}  # getattr and its like, by who called them
        self._formats: dict[str, set[str]] = {}  # strings whose format() was called, and the attributes that they name
        self._allowed: dict[tuple, bool] = {}
        self._library_called: set[str] = set()  # C functions of the library's that user code called, by their own names
        self._outside: list[Refusal] = []
        self._threads: list[Refusal] = []
        self._summary: Summary | None = None
        self._before: object | None = None
        self._running = False
        self._import: types.FrameType | None = None  # what runs inside an import is of no call
        # Frames that were there at the start: not of the call that is watched.
        self._below: dict[int, types.FrameType] = {}

    # Watching.

    def start(self) -> None:
        """Watches this thread from now on, together with an Observed that already does. Refuses another profiler."""
        before = sys.getprofile()
        if before is not None and not isinstance(getattr(before, "__self__", None), Observed):
            self._outside.append(Refusal("profiler", "a profile function is set (sys.setprofile); capture while none "
                                                     "is"))
            return
        self._before = before
        self._running = True
        frame = sys._getframe()
        while frame is not None:
            self._below[id(frame)] = frame
            frame = frame.f_back
        sys.setprofile(self._event)

    def stop(self) -> None:
        if self._running:
            sys.setprofile(self._before)
            self._running = False
            self._before = self._import = None
            self._below.clear()

    def watching(self) -> "_Watching":
        """For `with`: starts and stops."""
        return _Watching(self)

    def _event(self, frame: types.FrameType, event: str, argument: object) -> None:
        if self._import is not None:
            if event == "return" and frame is self._import:
                self._import = None
        elif event == "call":
            if _is_import(frame.f_code):
                self._import = frame
            else:
                self._on_call(frame)
        elif event == "c_call":
            self._on_c_call(frame, argument)
        if self._before is not None:
            self._before(frame, event, argument)

    def _origin_of(self, frame: types.FrameType) -> str:
        """LIBRARY or USER: for a frame of the standard library, what called it."""
        while frame is not None and id(frame) not in self._below:
            code = frame.f_code
            known = self._origins.get(id(code))
            if known is None:
                known = self._origins[id(code)] = (code, origin.of_code(code, frame.f_globals.get("__name__")))
            if known[1] != origin.STANDARD:
                return known[1]
            frame = frame.f_back
        return origin.USER

    def _on_call(self, frame: types.FrameType) -> None:
        code = frame.f_code
        key = id(code)
        if key in self._user:
            known = self._globals[key]
            if not any(g is frame.f_globals for g in known):
                known.append(frame.f_globals)
                self._summary = None
            return
        known_origin = self._origins.get(key)
        if key in self._library and known_origin[1] == origin.LIBRARY:
            return
        self._summary = None
        if self._origin_of(frame) == origin.LIBRARY:
            self._library[key] = code
            effect = origin.effect_of(code)
            if effect is not None:
                self._on_effect(frame, f"{library.PREFIX}.{effect}")
        else:
            if code is importlib.import_module.__code__:
                self._on_import(frame)
            self._user[key] = code
            self._globals[key] = [frame.f_globals]

    def _on_c_call(self, frame: types.FrameType, function: object) -> None:
        code = frame.f_code
        if id(frame) in self._below:
            return
        if c_calls.starts_thread(function):
            self._on_thread(frame)
            return
        if self._origin_of(frame) == origin.LIBRARY:
            for warns in library.WARN:  # a loop, see c_calls._is_of_re()
                if function is warns:
                    self._on_warning(frame)
            return
        holder = getattr(function, "__self__", None)
        if c_calls.is_context_variable(holder):
            self._variables[id(holder)] = holder
        elif isinstance(holder, str) and function.__name__ in ("format", "format_map"):
            self._on_format(holder)
        key = (id(code), function.__name__, holder if isinstance(holder, type) else type(holder), function.__module__)
        allowed = self._allowed.get(key)
        if allowed is None:
            is_standard = self._origins[id(code)][1] == origin.STANDARD
            is_own_lock = is_standard and c_calls.is_lock(function)
            allowed = self._allowed[key] = (is_own_lock or c_calls.is_allowed(function)
                                            and (is_standard or function is not id))
            if origin.of_name(function.__module__) == origin.LIBRARY:
                self._library_called.add(function.__name__)
            if allowed and (c_calls.reads_all_attributes(function) or _asks_by_name(function)):
                self._asked[key] = (code, function)
                self._summary = None
        if not allowed:
            self._calls.setdefault((id(code), frame.f_lineno, function.__name__), (code, frame.f_lineno, function))

    def _on_format(self, text: str) -> None:
        if text not in self._formats:
            self._formats[text] = attributes_in_format(text)
            self._summary = None

    def _on_import(self, frame: types.FrameType) -> None:
        caller = frame.f_back
        if (caller is not None and id(caller) not in self._below
                and self._origins.get(id(caller.f_code), ("", ""))[1] == origin.USER):
            self._outside.append(_refusal(caller.f_code, caller.f_lineno, _IMPORTS))

    def _on_thread(self, frame: types.FrameType) -> None:
        """A thread is started: refused at the user's own line, before what the threads of the standard library call for
        it."""
        caller = frame
        while (caller.f_back is not None and id(caller.f_back) not in self._below
               and self._origins[id(caller.f_code)][1] != origin.USER):
            caller = caller.f_back
            self._origin_of(caller)
        refusal = _refusal(caller.f_code, caller.f_lineno, _STARTS_THREAD)
        if refusal not in self._threads:
            self._threads.append(refusal)

    def _on_warning(self, frame: types.FrameType) -> None:
        """The library warns: refused at the user's line."""
        while frame is not None and id(frame) not in self._below and self._origin_of(frame) == origin.LIBRARY:
            frame = frame.f_back
        if frame is not None and id(frame) not in self._below:
            self._warnings.setdefault((id(frame.f_code), frame.f_lineno), (frame.f_code, frame.f_lineno))

    def _on_effect(self, frame: types.FrameType, name: str) -> None:
        """A function of the tensor library's that a replay can't stand for: refused where user code called it."""
        caller = frame
        while caller is not None and id(caller) not in self._below and self._origin_of(caller) == origin.LIBRARY:
            if caller.f_code.co_filename.endswith("utils/checkpoint.py"):
                return  # puts the generator back: draws in between would be found by its state and their values
            caller = caller.f_back
        if caller is not None:
            self._effects.append((caller.f_code, caller.f_lineno, name))

    # What was seen.

    @property
    def codes(self) -> set[types.CodeType]:
        """Code of the user's, and of the standard library as called by it."""
        return set(self._user.values())

    @property
    def library_codes(self) -> set[types.CodeType]:
        """Code of the tensor library's and this package's, and of the standard library as called by them."""
        return set(self._library.values())

    @property
    def context_variables(self) -> list[object]:
        """Variables of contextvars whose methods user code called."""
        return list(self._variables.values())

    @property
    def extent(self) -> tuple[int, ...]:
        """Grows with all that a walk needs to know."""
        return (len(self._user), len(self._variables), len(self._asked), len(self._formats),
                len(self._library_called & _names_of_settings()))

    @property
    def names(self) -> set[str]:
        """Names that user code mentions or asks for."""
        return self.summary.names

    @property
    def refusals(self) -> list[Refusal]:
        found = [_refusal(code, line, _reason(function)) for code, line, function in self._calls.values()]
        found += [_refusal(code, line, _NOT_REPLAYED.format(name)) for code, line, name in self._effects]
        found += [_refusal(code, line, _WARNS) for code, line in self._warnings.values()]
        return self._outside + self._threads + found

    def asks_types(self) -> bool:
        """Whether user code calls type() of anything but `self`."""
        return any(asks_type(code) for code in self._user.values()
                   if os.path.basename(code.co_filename) not in _HARMLESS)

    def user_code_since(self, count: int) -> list[types.CodeType]:
        """Code of the user's that was seen after the first `count`."""
        return list(self._user.values())[count:]

    def has_called(self, names: set[str]) -> bool:
        """Whether user code called a C function of the library's of one of these names, whatever it calls it."""
        return not names.isdisjoint(self._library_called)

    def has(self, code: types.CodeType) -> bool:
        return id(code) in self._user

    def has_library(self, code: types.CodeType) -> bool:
        return id(code) in self._library

    def user_codes(self) -> abc.Iterator[tuple[types.CodeType, list[dict]]]:
        """Each code of the user's with the globals that it ran with."""
        return ((code, self._globals[key]) for key, code in self._user.items())

    @property
    def summary(self) -> "Summary":
        if self._summary is None:
            self._summary = Summary(self)
        return self._summary


def _names_of_settings() -> set[str]:
    return {function.__name__ for _, function in library.settings_in_c()}


def _is_import(code: types.CodeType) -> bool:
    return code.co_name == "_find_and_load" and code.co_filename.startswith("<frozen importlib")


class _Watching:
    def __init__(self, observed: Observed) -> None:
        self._observed = observed

    def __enter__(self) -> Observed:
        self._observed.start()
        return self._observed

    def __exit__(self, *error: object) -> None:
        self._observed.stop()


class Summary:
    """What all observed code together says about names."""

    def __init__(self, observed: Observed) -> None:
        self.facts: dict[int, Facts] = {id(code): facts_of(code) for code in observed._user.values()}
        self.names: set[str] = set()
        self.tested: set[str] = set()  # asked for by getattr, hasattr ..., so that absence matters
        self.loaded: set[str] = set()  # attributes that are read as values
        self.stored: set[str] = set()  # assigned to anything but self
        self.stored_in_self: set[str] = set()
        self.reads_all = False  # some attributes are asked for by names that can't be known
        for key, code in observed._user.items():
            facts = self.facts[key]
            self.names |= facts.names
            self.loaded |= facts.loaded
            self.stored |= facts.stored
            self.stored_in_self |= facts.stored_in_self
            self._open(code, facts.is_open)
        for code, function in observed._asked.values():
            asked = None if c_calls.reads_all_attributes(function) else attributes_asked_for(code, function.__name__)
            self._open(code, asked is None)
            self.tested.update(asked or ())
        self.tested.update(*observed._formats.values())
        self.names |= self.tested
        self.loaded |= self.tested
        self.called = {code.co_name for code in observed._user.values()}  # special methods run without being named
        self.library_called = {code.co_name for code in observed._library.values()}
        self.all_names = set(self.names)
        self.library_names: set[str] = set()
        for code in observed._library.values():
            self.library_names.update(code.co_names)
            self.all_names.update(x for x in code.co_consts if isinstance(x, str) and len(x) < 64)
        self.all_names |= self.library_names

    def _open(self, code: types.CodeType, is_open: bool) -> None:
        if is_open and os.path.basename(code.co_filename) not in _HARMLESS:
            self.reads_all = True
            self.names |= string_constants(code)


def _asks_by_name(function: object) -> bool:
    return any(function is f for f in c_calls.ASKS_BY_NAME)


_NOT_REPLAYED = "calls {}, which a replay would not run again; call it outside and pass its result as an argument"


_IMPORTS = "imports a module by a name that isn't known, so what is read of it can't be compared; import it outside"
_STARTS_THREAD = "starts a thread; a replay would start none: start it outside the captured function"


_WARNS = "warns, which a replay would not do again; call it as the warning says"


_ID = "asks for an address by id(), which another call's objects don't have; compare objects by `is`"


def _reason(function: object) -> str:
    if function is id:
        return _ID
    return _NOT_REPLAYED.format(c_calls.name_of(function))


def _refusal(code: types.CodeType, line: int, reason: str) -> Refusal:
    text = source_at(code.co_filename, line)
    return Refusal(f"{os.path.basename(code.co_filename)}:{line}", f"`{text}` {reason}" if text else reason)
