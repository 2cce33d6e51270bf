"""How functions, other callables and Python modules are walked, and the globals of observed code."""

from __future__ import annotations

import functools
import sys
import types

from . import c_calls, library, origin, walk_instances
from .guard import MISSING, type_lookup
from .place import Place

_CACHE = "functools.lru_cache keeps results, which a replay would neither read nor add to; call the function without it"
_UNSEEN = f"calls into C code that can't be watched; use {library.NAME}'s functions instead"
_SETTING = ("is a setting that a module computes when it is asked, which can't be compared; read it outside and pass it as "
            "an argument")
_C_FUNCTION = ("calls {} from C, unseen, which a replay would not run again; call it outside and pass its result as an "
               "argument")


_NAMES_OF_FUNCTIONS = frozenset({"__name__", "__qualname__", "__doc__", "__annotations__"})


def walk_function(w, f, place) -> None:
    """A Python function: whole where its code was observed; of the library's wrappers and of functools.wraps, what they
    wrap."""
    code = f.__code__
    is_user = w.observed.has(code)
    for name in w.seen.names & _NAMES_OF_FUNCTIONS:
        path = f"{place.path}.{name}"
        w.hold("attribute", f, name, getattr(f, name), path, place._replace(path=path))
    if not (is_user or w.observed.has_library(code) or "__wrapped__" in f.__dict__):
        return
    w.result.functions.add(code)
    w.code_ids.add(id(code))
    place = place._replace(optional=not is_user)
    _walk_closure(w, f, place)
    if is_user:
        w.guard("attribute", f, "__code__", code, f"{place.path}.__code__")
        _walk_defaults(w, f, place)
    _walk_function_attributes(w, f, place, is_user)


def _walk_closure(w, f, place) -> None:
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
        path = f"closure {name} of {f.__name__}"
        try:
            value = cell.cell_contents
        except ValueError:
            w.guard("empty_cell", cell, None, MISSING, path)
            continue
        w.hold("cell", cell, None, value, path, place._replace(path=name))


def _walk_defaults(w, f, place) -> None:
    w.guard("attribute", f, "__defaults__", f.__defaults__, f"defaults of {f.__name__}")
    code = f.__code__
    if f.__defaults__:
        names = code.co_varnames[code.co_argcount - len(f.__defaults__) : code.co_argcount]
        for name, value in zip(names, f.__defaults__):
            w.visit(value, place._replace(path=f"default {name} of {f.__name__}"))
    w.hold(
        "attribute", f, "__kwdefaults__", f.__kwdefaults__, f"keyword defaults of {f.__name__}",
        place._replace(path=f"keyword defaults of {f.__name__}"),
    )  # fmt: skip


def _walk_function_attributes(w, f, place, is_user: bool) -> None:
    attributes = f.__dict__
    if attributes or is_user and (w.seen.reads_all or w.seen.stored or w.seen.tested):
        w.guard("attribute", f, "__dict__", attributes, f"{place.path}.__dict__")
    for name in list(attributes):
        if name == "__wrapped__" or is_user and (w.seen.reads_all or name in w.seen.names):
            path = f"{place.path}.{name}"
            w.hold("item", attributes, name, attributes[name], path, place._replace(path=path))
    if is_user and w.seen.reads_all:
        w.guard("keys", attributes, None, tuple(attributes), f"attributes of {place.path}")
    elif is_user:
        for name in sorted((w.seen.stored | w.seen.tested) - attributes.keys()):
            w.guard("missing", attributes, name, None, f"{place.path}.{name}")


def walk_method(w, method, place) -> None:
    w.visit(method.__func__, place)
    w.visit(method.__self__, place._replace(path=f"{place.path}.__self__"))


def walk_c_callable(w, f, place) -> None:
    """A C function is its identity; a bound method of an object leads to the object. Others from C can call it
    unseen."""
    if isinstance(f, types.BuiltinFunctionType) and not c_calls.is_allowed(f):
        w.refuse(place, _C_FUNCTION.format(c_calls.name_of(f)))
    holder = getattr(f, "__self__", None)
    if holder is not None and not isinstance(holder, (types.ModuleType, type)) and not _is_of_library(f):
        w.visit(holder, place._replace(path=f"{place.path}.__self__"))


def _is_of_library(f) -> bool:
    module = getattr(f, "__module__", None)
    return module is not None and origin.of_name(module) == origin.LIBRARY


def walk_captured(w, captured, place) -> None:
    """A captured function that another one calls: inside of a recording it is the function itself."""
    w.visit(library.function_of(captured), place)


def walk_property(w, p, place) -> None:
    for name in ("fget", "fset", "fdel"):
        w.visit(getattr(p, name), place._replace(path=f"{place.path}.{name}"))


def walk_wrapped_function(w, f, place) -> None:
    """A staticmethod or classmethod."""
    w.visit(f.__func__, place)


def walk_cached_property(w, p, place) -> None:
    w.visit(p.func, place)


def walk_partial(w, p, place) -> None:
    """A functools.partial: its function is called from C, which no profiler sees."""
    if type(p) is functools.partial:  # of derived classes walk_instance does it
        walk_instances.walk_attributes(w, p, place)
    for name in ("func", "args", "keywords"):
        path = f"{place.path}.{name}"
        value = getattr(p, name)
        w.hold("attribute", p, name, value, path, place._replace(path=path))


def walk_cache(w, f, place) -> None:
    if origin.of_name(f.__module__) == origin.USER:
        w.refuse(place, _CACHE)


# Globals and modules.


def walk_globals(w) -> None:
    """The globals that observed code names, dict by dict, and the modules that it imports while running."""
    by_dict: dict[int, tuple[dict, str, dict[tuple[str, ...], bool]]] = {}
    for code, dicts in w.observed.user_codes():
        facts = w.seen.facts[id(code)]
        for d in dicts:
            chains = by_dict.setdefault(id(d), (d, code.co_filename, {}))[2]
            for chain in facts.chains:
                chains[chain] = chains.get(chain, False) or chain in facts.escaped
            _walk_imports(w, facts, d)
    for d, file, chains in by_dict.values():
        _walk_globals_of(w, d, file, chains)


def _walk_globals_of(w, d: dict, file: str, chains: dict[tuple[str, ...], bool]) -> None:
    builtins = d.get("__builtins__", {})
    builtins = vars(builtins) if isinstance(builtins, types.ModuleType) else builtins
    for chain, is_escaped in chains.items():
        if is_escaped:
            _check_escaped(w, d.get(chain[0], builtins.get(chain[0])), chain)
    # C functions that the standard library calls are watched as the user's are; its locks and caches are nobody's
    # input.
    optional = origin.of_name(d.get("__name__")) == origin.STANDARD
    visits = []
    from_builtins = []
    for name, *rest in sorted(chains):
        path = f"global {name} of {file}"
        if name in d:
            w.guard("item", d, name, d[name], path)
            visits.append((d[name], rest, Place(name, 0, optional)))
        else:
            w.guard("missing", d, name, None, path)
            from_builtins.append(name)
    for name in from_builtins:
        if name in builtins:
            w.guard("item", builtins, name, builtins[name], f"built-in {name}")
    for value, rest, place in visits:
        if rest and isinstance(value, types.ModuleType):
            _follow(w, value, rest, place)
        elif not isinstance(value, types.BuiltinFunctionType):  # code that calls it is watched; see _check_escaped
            w.visit(value, place)


def _check_escaped(w, value: object, chain: tuple[str, ...]) -> None:
    """Refuses a C function that is passed on as a value: `map(print, x)` calls it where no profiler sees it."""
    for name in chain[1:]:
        if not isinstance(value, types.ModuleType):
            return  # see walk_class for methods of classes made in C
        value = vars(value).get(name)
    if isinstance(value, types.BuiltinFunctionType) and not c_calls.is_allowed(value):
        w.refuse(Place(".".join(chain), 0, False), _C_FUNCTION.format(c_calls.name_of(value)))


def _follow(w, module: types.ModuleType, names, place) -> None:
    """`module.a.b`: only what these names lead to."""
    name, *rest = names
    attributes = vars(module)
    if name not in attributes:
        _walk_absent(w, module, name, place)
        return
    value = attributes[name]
    if value is sys.modules and place.optional:
        return  # the standard library looks up modules of classes and functions there, for annotations
    place = place._replace(path=f"{place.path}.{name}")
    is_module = bool(rest) and isinstance(value, types.ModuleType)
    if _is_foreign(module):
        _hold_of_foreign(w, module, name, place, is_module)
    else:
        w.guard("item", attributes, name, value, place.path)
        if not is_module and not isinstance(value, types.BuiltinFunctionType):
            w.visit(value, place)
    if is_module:
        _follow(w, value, rest, place)


def _walk_absent(w, module: types.ModuleType, name: str, place) -> None:
    """A name that isn't among a module's attributes: its class or its `__getattr__` answers, or nothing does."""
    attributes = vars(module)
    if name in ("__dict__", "__getattribute__"):
        w.visit(module, place)
        return
    found = type_lookup(type(module), name)
    if found is not MISSING and not callable(found) and type(module) is not types.ModuleType:
        w.refuse(place._replace(path=f"{place.path}.{name}"), _SETTING)
    if origin.of_name(module.__name__) == origin.USER:
        w.guard("missing", attributes, name, None, f"{place.path}.{name}")
        if "__getattr__" in attributes:
            w.hold("item", attributes, "__getattr__", attributes["__getattr__"], f"{place.path}.__getattr__", place)


def _hold_of_foreign(w, module, name: str, place, is_module: bool = False) -> None:
    """An attribute of a module of the library's, the standard library's or an installed package's: users may have set
    or replaced it."""
    value = vars(module)[name]
    if _is_unseen(value):
        w.refuse(place, _UNSEEN)
    if name in library.REPLACED:
        return
    w.guard_module(vars(module), name, value, place.path)
    kind = origin.of_name(module.__name__)
    if is_module or _is_unseen(value) or isinstance(value, (types.BuiltinFunctionType, types.ModuleType)):
        return
    # Of others' functions, those that users put there matter. The methods of an instance, random.gauss say, are as good
    # as it.
    if kind != origin.USER:
        if isinstance(value, types.FunctionType) and not w.observed.has(value.__code__):
            return
        place = place._replace(optional=place.optional or kind == origin.LIBRARY
                               or not isinstance(value, (type, types.MethodType)))
    w.visit(value, place)


def walk_settings(w) -> None:
    """Settings of the library's that no recording compares, where code asks for them: functions made in C by their
    names, and what modules keep by the names that their functions have for it."""
    for path, function in library.settings_in_c():
        # A function that sets it, set_num_threads() say, is recorded where the setting is what it sets.
        names = {function.__name__, function.__name__.replace("get_", "set_", 1)}
        if w.seen.reads_all or not names.isdisjoint(w.seen.all_names) or w.observed.has_called(names):
            w.guard("counter", function, None, function(), path)
    for path, kind, owner, name in library.settings():
        if name not in w.seen.library_names:
            continue
        if kind == "type":
            w.guard_grouped("type_attribute", owner, name, type_lookup(owner, name), path)
            continue
        w.guard("item", owner, name, owner[name], path)
        if isinstance(owner[name], dict):
            w.guard("keys", owner[name], None, tuple(owner[name]), path)
            for key, value in owner[name].items():
                w.guard("item", owner[name], key, value, f"{path}[{key!r}]")
    for path, owner, name, reason in library.refused_settings():
        if name in w.seen.library_names and owner[name]:
            w.refuse(Place(path, 0, False), reason)


def walk_functions_of_library(w) -> None:
    """Functions that the library's own code names: of the modules in which users replace them."""
    for module in library.modules():
        attributes = vars(module)
        for name in sorted((w.seen.library_names & attributes.keys()) - library.REPLACED):
            if isinstance(attributes[name], (types.FunctionType, types.BuiltinFunctionType)):
                w.guard_module(attributes, name, attributes[name], f"{module.__name__}.{name}")


def walk_python_module(w, module, place) -> None:
    """A module that code holds as a value: all attributes named anywhere, and if names are computed, all."""
    attributes = vars(module)
    if _is_foreign(module):
        _walk_named(w, module, set(attributes) if w.seen.reads_all else w.seen.names, place)
        return
    for name in sorted(attributes.keys() if w.seen.reads_all else w.seen.names & attributes.keys()):
        if not name.startswith("__"):
            path = f"{place.path}.{name}"
            w.hold("item", attributes, name, attributes[name], path, place._replace(path=path))
    for name in sorted(w.seen.tested - attributes.keys()):
        w.guard("missing", attributes, name, None, f"{place.path}.{name}")


def _walk_named(w, module, names: set[str], place) -> None:
    """The attributes of others' module that code names. A C function that isn't only called, where names are computed,
    is refused."""
    check_unseen(w, module, names, place.path)
    for name in sorted(names & vars(module).keys(), key=lambda n: (n not in w.seen.names, n)):
        if name.startswith("__"):
            continue
        value = vars(module)[name]
        here = place._replace(path=f"{place.path}.{name}")
        _hold_of_foreign(w, module, name, here)
        if isinstance(value, types.BuiltinFunctionType) and (w.seen.reads_all or name in w.seen.loaded):
            w.visit(value, here)


def _walk_imports(w, facts, d: dict) -> None:
    for name in facts.imports:
        module = sys.modules.get(f"{d.get('__package__')}.{name}") or sys.modules.get(name)
        if not isinstance(module, types.ModuleType):
            continue
        root = sys.modules.get(name.partition(".")[0], module)
        for m in (root, module):
            if sys.modules.get(m.__name__) is m:
                w.guard_module(sys.modules, m.__name__, m, f"sys.modules[{m.__name__!r}]")
            place = Place(m.__name__, 0, origin.of_name(d.get("__name__")) == origin.STANDARD)
            if _is_foreign(m):
                _walk_named(w, m, facts.names, place)
            else:
                w.visit(m, place._replace(optional=False))


def check_unseen(w, module, names: set[str], path: str) -> None:
    """Refuses C functions that no profiler sees, where code that names them has the module."""
    if origin.of_name(module.__name__) != origin.USER or not _is_foreign(module):
        return
    for name in sorted(names & vars(module).keys()):
        value = vars(module)[name]
        if _is_unseen(value):
            w.refuse(Place(f"{path}.{name}", 0, False), _UNSEEN)


def _is_foreign(module) -> bool:
    """The tensor library's, the standard library's, and installed packages: their functions and classes aren't replaced
    in a run."""
    file = getattr(module, "__file__", None) or ""
    return (origin.of_name(module.__name__) != origin.USER or origin.is_installed(file)
            or not file.endswith(".py") and file != "")


def _is_unseen(value) -> bool:
    """Callable objects of classes made in C by others than the library and Python: ufuncs, Cython's functions, and such
    classes."""
    if isinstance(value, types.MethodType):
        value = value.__func__
    kind = value if isinstance(value, type) else type(value)
    if origin.of_class(kind) != origin.USER or not callable(value) or not origin.is_extension_class(kind):
        return False
    return not any(b.__module__ == "numpy" and b.__name__ in ("generic", "ndarray", "dtype") for b in kind.__mro__)
