"""Which function walks the objects of a class: one table by class, and one by base class for the rest."""

from __future__ import annotations

import collections
import contextvars
import enum
import functools
import sys
import types
import weakref
from collections import abc

from . import library, origin, walk_containers, walk_functions, walk_instances

Handler = abc.Callable[..., None]  # of the walker, the object and its place


def nothing(w, value, place) -> None:
    """For what is immutable, or has no state but its identity."""


def refuses(reason: str) -> Handler:
    return lambda w, value, place: w.refuse(place, reason)


_ITERATOR = "an iterator remembers its position, which a replay would not move; make it inside the function"
_ARRAY = f"a NumPy array can't be guarded; make it a tensor ({library.PREFIX}.as_tensor)"
_GENERATOR = f"a random generator of its own can't be followed; draw from {library.NAME}'s default generator"
_EXTENSION = "an object of {}, made in C, can't be compared; keep it out of the function or pass a tensor or number"
_DECIMAL = "a Decimal is rounded by a context that can't be compared; pass a float"

_C_CALLABLES = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
)  # fmt: skip

_BY_CLASS: dict[type, Handler] = {
    **{t: walk_functions.walk_c_callable for t in _C_CALLABLES},
    list: walk_containers.walk_list,
    collections.deque: walk_containers.walk_list,
    tuple: walk_containers.walk_tuple,
    frozenset: walk_containers.walk_tuple,
    slice: walk_containers.walk_slice,
    set: walk_containers.walk_set,
    dict: walk_containers.walk_dict,
    collections.OrderedDict: walk_containers.walk_dict,
    collections.defaultdict: walk_containers.walk_dict,
    contextvars.ContextVar: walk_containers.walk_context_variable,
    types.FunctionType: walk_functions.walk_function,
    types.MethodType: walk_functions.walk_method,
    types.ModuleType: walk_functions.walk_python_module,
    property: walk_functions.walk_property,
    staticmethod: walk_functions.walk_wrapped_function,
    classmethod: walk_functions.walk_wrapped_function,
    functools.cached_property: walk_functions.walk_cached_property,
    functools.partial: walk_functions.walk_partial,
    functools._lru_cache_wrapper: walk_functions.walk_cache,
    types.DynamicClassAttribute: nothing,
    type(vars(collections.namedtuple("Pair", "x"))["x"]): nothing,
    types.GenericAlias: nothing,
    types.CodeType: nothing,
    types.UnionType: nothing,
    object: nothing,
    library.Generator: refuses(_GENERATOR),
    **{t: nothing for t in library.IMMUTABLE},
}

_BY_BASE: list[tuple[type, Handler]] = [
    (library.Tensor, walk_instances.walk_tensor),
    *((kind, refuses(reason)) for kind, reason in library.REFUSED_BASES),
    (type, walk_instances.walk_class),
    (types.ModuleType, walk_functions.walk_python_module),
    (weakref.ref, walk_containers.walk_reference),
    (enum.Enum, walk_instances.walk_enum),
]

# Classes of modules that take long to import, and needn't be: an object of them is there only if its module is.
_BY_NAME: dict[tuple[str, str], Handler] = {
    ("dataclasses", "Field"): nothing,
    ("re", "Pattern"): nothing,
    ("decimal", "Decimal"): refuses(_DECIMAL),
    **{("datetime", name): nothing for name in ("date", "datetime", "time", "timedelta", "timezone")},
}


def _by_name(kind: type):
    if kind.__name__ == "Logger" or "logging" in sys.modules:
        logger = getattr(sys.modules.get("logging"), "Logger", None)
        if isinstance(logger, type) and issubclass(kind, logger):
            return walk_instances.walk_logger
    key = (kind.__module__, kind.__name__)
    if key in _BY_NAME and getattr(sys.modules.get(key[0]), key[1], None) is kind:
        return _BY_NAME[key]
    return None


_CONTAINERS: list[tuple[type, Handler]] = [
    (t, _BY_CLASS[t]) for t in (dict, list, tuple, set, frozenset, collections.deque)
]

# Classes made in C whose instances Python sees all of, so that classes derived from them can be walked.
_TRANSPARENT = frozenset({object, int, float, complex, str, bytes, types.SimpleNamespace, functools.partial, property,
                          BaseException})


def handler_of(kind: type) -> Handler:
    if kind in _BY_CLASS:
        return _BY_CLASS[kind]
    for base, handler in _BY_BASE:
        if issubclass(kind, base):
            return handler
    named = _by_name(kind)
    if named is not None:
        return named
    if issubclass(kind, library.whole()):
        return walk_instances.walk_whole
    if library.is_compiled(kind):
        return walk_functions.walk_captured
    if kind.__module__ in ("typing", "typing_extensions") or library.is_operator(kind):
        return nothing
    return _of_numpy(kind) or _of_instance(kind)


def _of_numpy(kind: type):
    for base in kind.__mro__:
        if base.__module__ == "numpy" and base.__name__ in ("ndarray", "void"):  # a void shows memory of an array
            return refuses(_ARRAY)
        if base.__module__ == "numpy" and base.__name__ in ("generic", "dtype"):
            return nothing  # immutable
    return None


def _of_instance(kind: type) -> Handler:
    parts = [handler for base, handler in _CONTAINERS if issubclass(kind, base)][:1]
    if issubclass(kind, functools.partial):
        parts.append(walk_functions.walk_partial)
    if issubclass(kind, property):
        parts.append(walk_functions.walk_property)
    if issubclass(kind, BaseException):
        parts.append(walk_instances.walk_exception)
    containers = tuple(base for base, _ in _CONTAINERS) + (collections.OrderedDict, collections.defaultdict)
    for base in kind.__mro__:
        if base in _TRANSPARENT or base in containers or issubclass(base, BaseException):
            continue
        if origin.is_extension_class(base):
            if issubclass(kind, abc.Iterator):
                return refuses(_ITERATOR)
            if base.__name__ in ("Random", "RandomState", "Generator") or base.__module__ == "_random":
                return refuses(_GENERATOR)
            return refuses(_EXTENSION.format(f"{kind.__module__}.{kind.__qualname__}"))

    def walk_parts(w, value, place) -> None:
        for part in parts:
            part(w, value, place)
        walk_instances.walk_instance(w, value, place)

    return walk_parts if parts else walk_instances.walk_instance
