"""What the bytecode of a function says about the names it uses.

Only names matter, not which branch runs: a name that the code mentions counts as read. Where bytecode is of an unknown
shape, the answer errs towards more names.
"""

from __future__ import annotations

import _string  # as string.Formatter does
import dis
import sys
import types
from collections import abc

from .record import record

_SHIFTED_GLOBAL = sys.version_info >= (3, 11)  # bit 0 of LOAD_GLOBAL's argument says whether it pushes NULL
_SHIFTED_ATTRIBUTE = sys.version_info >= (3, 12)  # bit 0 of LOAD_ATTR's argument says whether it loads a method

_NULL_FOLLOWS = sys.version_info >= (3, 13)  # a function that is called at once is pushed before NULL, else after

_GLOBAL_LOADS = {"LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL"}
_SKIPPED = {"CACHE", "EXTENDED_ARG"}

# Attributes that give access to attributes whose names the bytecode doesn't have.
_OPEN_NAMES = frozenset({"__dict__", "__getattribute__", "attrgetter", "methodcaller"})

_READERS = frozenset((name,) for name in ("getattr", "hasattr", "vars", "dir"))  # passed on, they read by any name


_FORMATTERS = frozenset({"format", "format_map"})  # passed on, they format by any string


@record
class Facts:
    names: set[str]  # everything in co_names
    chains: set[tuple[str, ...]]  # global names, each with the attributes loaded from it in a row: ("utils", "SCALE")
    stored: set[str]  # attributes assigned or deleted, but for those of `self`
    stored_in_self: set[str]
    loaded: set[str]  # attributes that are read, but for those of methods called at once
    imports: set[str]
    # Those chains that are loaded as values, not to be called at once (from Python 3.11 on)
    escaped: set[tuple[str, ...]]
    is_open: bool  # reads attributes by names that can't be known


def facts_of(code: types.CodeType) -> Facts:
    """The facts of the code and of all code nested in it: lambdas, inner functions, comprehensions, classes."""
    facts = Facts(set(), set(), set(), set(), set(), set(), set(), False)
    is_open = [_scan(c, facts) for c in nested(code)]
    is_open.append(not facts.escaped.isdisjoint(_READERS) or not facts.loaded.isdisjoint(_FORMATTERS))
    if not facts.names.isdisjoint(("format", "format_map")):
        facts.names.update(*map(attributes_in_format, string_constants(code)))
    return facts._replace(is_open=any(is_open))


def nested(code: types.CodeType) -> abc.Iterator[types.CodeType]:
    """The code itself and all code that is a constant of it, to any depth."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


def _instructions(code: types.CodeType) -> abc.Iterator[tuple[str, int]]:
    extended = 0
    bytecode = code.co_code
    names = dis.opname
    for i in range(0, len(bytecode), 2):
        argument = bytecode[i + 1] | extended
        name = names[bytecode[i]]
        extended = argument << 8 if name == "EXTENDED_ARG" else 0
        yield name, argument


def _is_first(instruction: tuple[str, int]) -> bool:
    return instruction[0] in ("LOAD_FAST", "LOAD_FAST_BORROW") and instruction[1] == 0


def _scan(code: types.CodeType, facts: Facts) -> bool:
    names = code.co_names
    facts.names.update(names)
    first_is_self = code.co_argcount > 0 and code.co_varnames[0] == "self"
    is_open = False
    chain: tuple[str, ...] = ()
    called = True
    previous = before = ("", 0)
    updated: set[str] = set()  # of `self.n += 1`
    for op, argument in _instructions(code):
        if op in _SKIPPED:
            continue
        if op == "IMPORT_FROM":
            facts.loaded.add(names[argument])
        elif op == "LOAD_ATTR" and not (_SHIFTED_ATTRIBUTE and argument & 1):
            facts.loaded.add(names[argument >> 1 if _SHIFTED_ATTRIBUTE else argument])
        if chain and op in ("LOAD_ATTR", "LOAD_METHOD"):
            chain += (names[argument >> 1 if _SHIFTED_ATTRIBUTE else argument],)
            called = called or op == "LOAD_METHOD" or _SHIFTED_ATTRIBUTE and bool(argument & 1)
            continue
        if chain:
            facts.chains.add(chain)
            if not called and not (_NULL_FOLLOWS and op == "PUSH_NULL"):
                facts.escaped.add(chain)
            chain = ()
        if op == "LOAD_GLOBAL":
            chain = (names[argument >> 1 if _SHIFTED_GLOBAL else argument],)
            called = not _SHIFTED_GLOBAL or bool(argument & 1)  # NULL below it: what the chain ends with is called
        elif op in _GLOBAL_LOADS:
            chain = (names[argument],)
            called = True
        elif op in ("STORE_ATTR", "DELETE_ATTR"):
            name = names[argument]
            to_self = first_is_self and (_is_first(previous) or previous[0] in ("SWAP", "ROT_TWO") and name in updated)
            (facts.stored_in_self if to_self else facts.stored).add(name)
        elif op == "LOAD_ATTR" and previous[0] in ("COPY", "DUP_TOP") and _is_first(before):
            updated.add(names[argument >> 1 if _SHIFTED_ATTRIBUTE else argument])
        elif op == "IMPORT_NAME":
            facts.imports.add(names[argument])
        elif op == "MATCH_CLASS":
            is_open = True
        before, previous = previous, (op, argument)
    return is_open or not _OPEN_NAMES.isdisjoint(names)


def asks_type(code: types.CodeType) -> bool:
    """Whether the code has the built-in type() for anything but `type(self)`."""
    for c in nested(code):
        if "type" not in c.co_names:
            continue
        has_self = c.co_argcount > 0 and c.co_varnames[0] == "self"
        found = [i for i in _instructions(c) if i[0] not in _SKIPPED and i[0] not in ("PUSH_NULL", "PRECALL")]
        for at, (op, argument) in enumerate(found):
            index = argument >> 1 if op == "LOAD_GLOBAL" and _SHIFTED_GLOBAL else argument
            if op not in ("LOAD_GLOBAL", "LOAD_NAME") or c.co_names[index] != "type":
                continue
            of_self = has_self and _is_first(found[at + 1]) and found[at + 2] in _CALLS_OF_ONE
            if not of_self:
                return True
    return False


_CALLS_OF_ONE = (("CALL", 1), ("CALL_FUNCTION", 1))


def handles_errors(code: types.CodeType) -> bool:
    """Whether the code has an `except` or `finally`. `with` has handlers, too, which call __exit__ alone."""
    names = [name for name, _ in _instructions(code)]
    if sys.version_info < (3, 11):
        return "SETUP_FINALLY" in names
    return names.count("PUSH_EXC_INFO") > names.count("WITH_EXCEPT_START") + names.count("END_ASYNC_FOR")


def attributes_asked_for(code: types.CodeType, function: str) -> list[str] | None:
    """The names in `function(object, "name", ...)` for the built-in getattr, hasattr, setattr or delattr.

    None if one of them is computed, or if the code doesn't call the function by its name.
    """
    found: list[str] = []
    calls = 0
    for c in nested(code):
        instructions = [i for i in dis.get_instructions(c) if i.opname not in _SKIPPED]
        for at, instruction in enumerate(instructions):
            if instruction.argval == function and instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                calls += 1
                name = _constant_name(instructions, at + 1)
                if name is None:
                    return None
                found.append(name)
            elif instruction.argval == function and instruction.opname.startswith("LOAD"):
                return None
    return found if calls else None


def _constant_name(instructions: list, at: int) -> str | None:
    """The constant second argument of the call whose function has just been pushed, by following the stack's depth."""
    depth = 0
    name: str | None = None  # what the second entry above the function is, where it is a constant as it was loaded
    for i in instructions[at:]:
        if i.opname == _CALL and depth == i.arg:
            return name
        if i.opcode in dis.hasjrel or i.opcode in dis.hasjabs:
            return None
        before = depth
        depth += dis.stack_effect(i.opcode, i.arg if i.opcode >= dis.HAVE_ARGUMENT else None, jump=False)
        if depth < 0:
            return None
        if before == 1 and depth == 2 and i.opname == "LOAD_CONST" and isinstance(i.argval, str):
            name = i.argval
        elif depth <= 2 or before < 2:
            name = None
    return None


# The instruction at which all arguments are on the stack.
_CALL = "CALL_FUNCTION" if sys.version_info < (3, 11) else "PRECALL" if sys.version_info < (3, 12) else "CALL"


def attributes_in_format(text: str) -> set[str]:
    """The attributes that "{0.scale}".format() reads, those in nested fields included."""
    found: set[str] = set()
    try:
        for _, field, spec, _ in _string.formatter_parser(text):
            parts = _string.formatter_field_name_split(field or "")[1]
            found.update(name for is_attribute, name in parts if is_attribute)
            found |= attributes_in_format(spec) if spec else set()
    except ValueError:
        pass  # no format
    return found


def string_constants(code: types.CodeType) -> set[str]:
    """All strings among the constants: where names are computed, these are the likely ones."""
    found: set[str] = set()
    for c in nested(code):
        todo = list(c.co_consts)
        while todo:
            x = todo.pop()
            if isinstance(x, str):
                found.add(x)
            elif isinstance(x, (tuple, frozenset)):
                todo.extend(x)
    return found
