"""Classes and functions that load() may take from files, beside its own: those that the program named."""

import contextlib

#: By the name that a file has for them.
_allowed = {}


def _name_of(entry):
    if isinstance(entry, tuple):
        if len(entry) != 2 or not isinstance(entry[1], str):
            raise ValueError("add_safe_globals(): expected a class or function, or a pair of one and its name, got "
                             f"{entry!r}")
        return entry[1]
    if not hasattr(entry, "__qualname__"):
        raise TypeError(f"add_safe_globals(): expected a class or function, got {type(entry).__name__}")
    return f"{entry.__module__}.{entry.__qualname__}"


def _by_name(entries):
    return {_name_of(entry): entry[0] if isinstance(entry, tuple) else entry for entry in entries}


def add_safe_globals(safe_globals):
    """Lets load() use classes and functions that a file names: what they do when they are called is the program's
    responsibility.

    Args:
        safe_globals: a list of them; a pair is an object and the name that files have for it, "module.name".
    """
    _allowed.update(_by_name(safe_globals))


def clear_safe_globals():
    """Forgets what add_safe_globals() was given."""
    _allowed.clear()


def get_safe_globals():
    """A list of what add_safe_globals() was given."""
    return list(_allowed.values())


@contextlib.contextmanager
def safe_globals(safe_globals):
    """A context manager: within it load() uses these as if add_safe_globals() had been given them."""
    before = dict(_allowed)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _allowed.clear()
        _allowed.update(before)


def _shunts(module):
    from shunt._as_torch import shunts_name
    return shunts_name(module) if module.partition(".")[0] == "torch" else module


def allowed(module, name):
    """What was added under a name of a file's, or None. torch's modules are Shunt's."""
    for place in (module, _shunts(module)):
        if f"{place}.{name}" in _allowed:
            return _allowed[f"{place}.{name}"]
    return None


def is_allowed_class(cls):
    """Whether a class was added."""
    return any(cls is one for one in _allowed.values())


def imported(module, name):
    """What a file names, imported: for files that are trusted."""
    import _compat_pickle
    import importlib
    # Protocol 2 has Python 2's names for what the language brings.
    module, name = _compat_pickle.NAME_MAPPING.get((module, name),
                                                   (_compat_pickle.IMPORT_MAPPING.get(module, module), name))
    found = importlib.import_module(_shunts(module))
    for part in name.split("."):
        found = getattr(found, part)
    return found
