"""Which of the user's code would handle an error of an operator: a replay that meets it runs none."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
from typing import Iterator, Optional, Tuple

from . import origin
from .code_facts import handles_errors
from .observe import Observed

Position = Tuple[types.CodeType, int]  # a code object, and the offset of the instruction that runs


def positions(frame: Optional[types.FrameType]) -> tuple[Position, ...]:
    """The codes on the stack that are neither PyTorch's nor this package's, innermost first."""
    out = []
    while frame is not None:
        if _is_users(frame.f_code):
            out.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(out)


def are_handled(stack: tuple[Position, ...], observed: Observed) -> bool:
    """Whether an error at these positions would be handled within the call that was observed: by an except or finally
    there, or by what a context manager of the user's does at its end."""
    inside = [p for p in stack if observed.has(p[0])]
    handlers = [_handlers(*p) for p in inside]
    if any("except" in h for h in handlers):
        return True
    return any("with" in h for h in handlers) and any(map(_ends_a_context, observed.codes))


@functools.lru_cache(maxsize=4096)
def _is_users(code: types.CodeType) -> bool:
    return origin.of_code(code, None) != origin.LIBRARY


def _ends_a_context(code: types.CodeType) -> bool:
    if code.co_flags & inspect.CO_GENERATOR:
        return handles_errors(code)
    return code.co_name in ("__exit__", "__aexit__") and origin.of_code(code, None) == origin.USER


@functools.lru_cache(maxsize=4096)
def _handlers(code: types.CodeType, offset: int) -> frozenset[str]:
    """"except" (or finally) and "with", where the instruction stands in such a block."""
    if sys.version_info < (3, 11):  # its blocks are known to the interpreter alone
        names = {i.opname for i in dis.get_instructions(code)}
        return frozenset(kind for kind, opcode in (("except", "SETUP_FINALLY"),
                                                   ("with", "SETUP_WITH")) if opcode in names)
    names = {i.offset: i.opname for i in dis.get_instructions(code)}
    entries = dis._parse_exception_table(code)
    out = set()
    for target in _targets(entries, offset):
        if names.get(target) == "PUSH_EXC_INFO":  # else what cleans up behind a handler
            out.add("with" if names.get(target + 2) == "WITH_EXCEPT_START" else "except")
    return frozenset(out)


def _targets(entries: list, offset: int) -> Iterator[int]:
    """Where an error goes that is raised there, and one that is raised again where it went."""
    seen = set()
    while offset not in seen:
        seen.add(offset)
        entry = next((e for e in entries if e.start <= offset < e.end), None)
        if entry is None:
            return
        yield entry.target
        offset = entry.target
