"""Where this wheel's copy of Shunt lies: libraries, headers, CMake package and command-line tool.

    cmake -DCMAKE_PREFIX_PATH="$(python -c 'import shunt_runtime; print(shunt_runtime.cmake_prefix())')" ...

Nothing is loaded by importing it.
"""

import os as _os

__all__ = ["cmake_prefix", "executable", "include_dir", "library_dir"]

_HERE = _os.path.dirname(_os.path.realpath(__file__))


def __getattr__(name: str) -> str:
    if name == "__version__":  # what reads it takes longer to import than all else here
        from importlib.metadata import version
        return version("shunt-runtime")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def include_dir() -> str:
    """The folder for a compiler's -I: <shunt/shunt.h> is in it."""
    return _os.path.join(_HERE, "include")


def library_dir() -> str:
    """The folder of libshunt.so.<version>, of libshunt_jit.so.<version>, its compiler, and of the OpenBLAS that it
    loads."""
    return _os.path.join(_HERE, "lib")


def cmake_prefix() -> str:
    """A folder for CMAKE_PREFIX_PATH: find_package(shunt) finds the CMake package in it."""
    return _HERE


def executable() -> str:
    """The program shunt."""
    return _os.path.join(_HERE, "bin", "shunt")
