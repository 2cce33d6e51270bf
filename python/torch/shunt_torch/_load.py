"""What has to hold before the extension is loaded: the right PyTorch, and one libshunt in the process."""

import ctypes
import os

from shunt_torch import _build


def check_torch() -> None:
    """Imports torch; ImportError where it is of another minor version than the extension was built for.

    The extension uses C++ interfaces that change with every minor version, so loading it would end in missing symbols, or
    worse, in none missing.
    """
    ours = f"shunt-torch {_minor(_build.VERSION)}"
    install = f"pip install 'torch=={_build.TORCH}.*'"
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(f"{ours} works with PyTorch {_build.TORCH}; there is none. {install}") from None
    version = str(torch.__version__)
    if _minor(version) != _build.TORCH:
        raise ImportError(f"{ours} works with PyTorch {_build.TORCH}; this is {version}. {install}")


def load_libshunt() -> None:
    """Loads libshunt, which the extension then finds by its name; ImportError where another copy is loaded already.

    Loaded by itself rather than as a dependency of the extension, it looks for symbols in its own dependencies only, and not
    in PyTorch's libraries first.
    """
    path = os.path.realpath(_libshunt())
    for other in loaded_libshunts():
        if other != path:
            raise ImportError(
                f"this process has already loaded another copy of Shunt, {other}, and shunt-torch needs {path}; "
                "what loaded the other has to be built against the package shunt-runtime.")
    try:
        ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"shunt-torch can't load Shunt: {error}{_advice(str(error))}") from None


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


def _advice(error: str) -> str:
    # glibc keeps some 1,500 bytes for the thread-locals of libraries like libshunt that are loaded by a running program.
    if "static TLS" in error:
        return (". Other libraries have used up the room for thread-locals: import shunt_torch before them, or start Python with "
                "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096 in the environment.")
    return ""


def _libshunt() -> str:
    if _build.LIBSHUNT:
        return _build.LIBSHUNT
    try:
        import shunt_runtime
    except ModuleNotFoundError:
        raise ImportError(
            f"shunt-torch needs the package shunt-runtime. pip install 'shunt-runtime=={_minor(_build.VERSION)}.*'") from None
    return os.path.join(shunt_runtime.library_dir(), f"libshunt.so.{_minor(_build.VERSION)}")


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
