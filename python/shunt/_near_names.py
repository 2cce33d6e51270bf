"""Names that are written nearly like one that isn't there."""

import sys

_hints = {}  # by whose name it is and the name: programs ask again and again whether something is there


def near_names(name, known, most=3):
    """Those of `known` that a misspelt name may mean, the nearest first."""
    from difflib import get_close_matches
    return get_close_matches(name, [other for other in dict.fromkeys(known) if not other.startswith("_")], most, 0.75)


def did_you_mean(name, known):
    """The end of a message, "; did you mean 'a' or 'b'?"; empty where no name is near."""
    near = near_names(name, known)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def hint(module, name, known):
    """The end of a message about a name that a module doesn't have: why it is missing, or which are near."""
    found = _hints.get((module, name))
    if found is None:
        from shunt._missing_names import why_missing
        found = why_missing(module, name) or ("" if name.startswith("_") else did_you_mean(name, known))
        if len(_hints) < 1000:
            _hints[module, name] = found
    return found


def no_attribute(whose, name, known, module=None):
    """The AttributeError for a name that isn't there, with those that are near; `module`: whose name it is, where
    `whose` says more."""
    return AttributeError(f"{whose} has no attribute '{name}'{hint(module or whose, name, known)}")


def _is_imported(frame):
    """Whether the frame runs `from ... import ...`: there an ImportError is raised, which Python gives no hint."""
    from opcode import opmap
    code, place = frame.f_code.co_code, frame.f_lasti
    return 0 <= place < len(code) and code[place] == opmap["IMPORT_FROM"]


def no_name(module, name, known, frame, file=None, whose=None):
    """The error for a name that a module doesn't have: AttributeError, or ImportError where `frame` imports it."""
    if _is_imported(frame) and f"{module}.{name}" not in sys.modules:
        return ImportError(f"cannot import name '{name}' from '{module}' ({file or 'unknown location'})"
                           f"{hint(module, name, known)}", name=module, path=file)
    return no_attribute(whose or f"module '{module}'", name, known, module)
