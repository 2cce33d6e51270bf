"""Which C functions user code may call in a captured call: those without state, output or input of their own.

A replay runs no Python, so a C function that reads a clock, a file or a generator, or that writes anywhere but to
Python objects that are compared before and after, must not be in a recording.
"""

from __future__ import annotations

import builtins
import collections
import contextvars
import functools
import itertools
import sys
import types
import weakref

from . import library, origin

_MODULES = frozenset(
    {
        "math", "cmath", "operator", "_operator", "itertools", "functools", "_functools", "_abc", "_collections",
        "_weakref",
        "_typing", "_bisect", "_heapq",
    }
)  # fmt: skip

_BUILTINS = frozenset(
    {
        "__build_class__", "abs", "all", "any", "ascii", "bin", "callable", "chr", "delattr", "dir", "divmod", "format",
        "getattr",
        "hasattr", "hash", "hex", "id", "isinstance", "issubclass", "iter", "len", "locals", "max", "min", "next",
        "oct", "ord",
        "pow", "repr", "round", "setattr", "sorted", "sum", "vars",
    }
)  # fmt: skip
_SYS = frozenset({"exc_info", "exception", "intern", "is_finalizing", "getrecursionlimit"})

# Classes whose methods, as C defines them, change nothing but their object.
_CLASSES = frozenset(
    {
        object, type, list, tuple, dict, set, frozenset, str, bytes, bytearray, int, bool, float, complex, range, slice,
        property,
        staticmethod, classmethod, BaseException, collections.deque, collections.OrderedDict, collections.defaultdict,
        functools.partial, types.GeneratorType, types.CoroutineType, types.MappingProxyType,
        types.CellType,
        types.FunctionType, types.MethodType, types.SimpleNamespace, types.GenericAlias, weakref.ref,
        contextvars.ContextVar,
        type({}.keys()), type({}.values()), type({}.items()), type(iter([])), type(iter({})),
    }
    | {t for t in vars(itertools).values() if isinstance(t, type)}
    | {t for t in vars(builtins).values() if isinstance(t, type) and issubclass(t, BaseException)}
)  # fmt: skip

# Read attributes whose names the calling code may compute.
ASKS_BY_NAME = {f: f.__name__ for f in (getattr, hasattr, setattr, delattr)}
_READS_ALL = frozenset({"__reduce__", "__reduce_ex__", "__getstate__", "__dir__"})


def reads_all_attributes(function: object) -> bool:
    """vars, dir, and what copies or pickles an object."""
    return function is vars or function is dir or function.__name__ in _READS_ALL


def is_context_variable(holder: object) -> bool:
    """Its value is guarded, and compared after a recorded call, as if it were an attribute."""
    return type(holder) is contextvars.ContextVar


def starts_thread(function: object) -> bool:
    return getattr(function, "__module__", None) == "_thread" and "start" in function.__name__


def name_of(function: object) -> str:
    """How a user knows the function: "time.time", "random.Random.random"."""
    holder = getattr(function, "__self__", None)
    name = getattr(function, "__qualname__", None) or function.__name__
    module = getattr(function, "__module__", None)
    if holder is not None and not isinstance(holder, types.ModuleType):
        module = getattr(holder if isinstance(holder, type) else type(holder), "__module__", None)
    return name if module in (None, "builtins") else f"{module}.{name}"


def is_lock(function: object) -> bool:
    """The standard library's locks around its own structures, that of functools.cached_property say, keep no value."""
    return type(getattr(function, "__self__", None)).__module__ == "_thread"


def is_allowed(function: object) -> bool:
    holder = getattr(function, "__self__", None)
    module = getattr(function, "__module__", None)
    if isinstance(holder, library.Generator):
        return False  # seeds and states
    if function.__name__ in library.GIVE_AWAY and isinstance(holder, library.Tensor):
        return False
    if module is not None and origin.of_name(module) == origin.LIBRARY:
        return True
    if holder is None and module is None:  # Tensor._make_subclass and the like: static methods of classes in C
        return _is_static_method_of_tensor(function)
    if holder is None or isinstance(holder, types.ModuleType):
        return _is_allowed_of_module(module or holder.__name__, function)
    definer = _definer(holder, function.__name__)
    return definer is not None and (
        definer in _CLASSES or _is_of_re(definer) or origin.of_class(definer) == origin.LIBRARY
    )


def _is_of_re(kind: type) -> bool:
    """Without a generator: torch.compile looks at the frames that run while it traces, and refuses generators."""
    module = sys.modules.get("re")
    return kind is getattr(module, "Pattern", None) or kind is getattr(module, "Match", None)


def _is_allowed_of_module(module: str, function: object) -> bool:
    if module == "builtins":
        return function.__name__ in _BUILTINS
    if module == "sys":
        return function.__name__ in _SYS
    return module in _MODULES


def _is_static_method_of_tensor(function: object) -> bool:
    return getattr(library.Tensor, function.__name__, None) == function


def _definer(holder: object, name: str) -> type | None:
    """The class whose C method a bound C method is: classes that define the name in Python called it by super()."""
    for kind in (holder, type(holder)) if isinstance(holder, type) else (type(holder),):
        for base in kind.__mro__:
            found = vars(base).get(name)
            if found is not None and not isinstance(found, (types.FunctionType, classmethod, staticmethod, property)):
                return base
            if found is not None and origin.is_extension_class(base):
                return base
    return None
