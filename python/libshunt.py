"""One libshunt in a process: finds it, refuses to add a second copy, and loads it.

CMake packs this file into every package that has an extension, as _libshunt.py beside the _build.py of that package.
"""

import _ctypes  # what ctypes opens libraries by, at a tenth of its import
import os

from . import _build

_DISTRIBUTION = __package__.replace("_", "-")


def load_libshunt() -> None:
    """Loads libshunt, which the extension then finds by its name; ImportError where another copy is loaded already.

    Loaded by itself rather than as a dependency of the extension, it looks for symbols in its own dependencies only,
    and not in PyTorch's libraries first.
    """
    name = libshunt()
    if os.path.isabs(name):
        path = os.path.realpath(name)
        for other in loaded_libshunts():
            if other != path:
                raise ImportError(
                    f"this process has already loaded another copy of Shunt, {other}, and {_DISTRIBUTION} needs "
                    f"{path}; what loaded the other has to be built against the package shunt-runtime.")
    try:
        _ctypes.dlopen(name, os.RTLD_NOW)
    except OSError as error:
        raise ImportError(f"{_DISTRIBUTION} can't load Shunt: {error}{_advice(str(error))}") from None


def loaded_libshunts() -> "list[str]":
    """The files named libshunt.so... that are mapped into this process, each once."""
    found = set()
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                fields = line.rstrip("\n").split(maxsplit=5)
                if len(fields) == 6 and os.path.basename(fields[5]).startswith("libshunt.so"):
                    found.add(fields[5])
    except OSError:  # no /proc: nothing to compare
        pass
    return sorted(found)


def libshunt() -> str:
    """The file of libshunt that the extension belongs to; Debian's packages have only its name, which the loader
    knows."""
    if _build.LIBSHUNT:
        return _build.LIBSHUNT
    try:
        import shunt_runtime
    except ModuleNotFoundError:
        raise ImportError(f"{_DISTRIBUTION} needs the package shunt-runtime. "
                          f"pip install 'shunt-runtime=={minor(_build.VERSION)}.*'") from None
    return os.path.join(shunt_runtime.library_dir(), f"libshunt.so.{minor(_build.VERSION)}")


def minor(version: str) -> str:
    """The first two numbers of a version: interfaces may change with them."""
    return ".".join(version.split(".")[:2])


def _advice(error: str) -> str:
    # glibc keeps some 1,500 bytes for the thread-locals of libraries that a running program loads, as libshunt.
    if "static TLS" in error:
        return (f". Other libraries have used up the room for thread-locals: import {__package__} before them, or "
                "start Python with GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096 in the environment.")
    return ""
