"""Where this wheel's copy of Shunt lies: libraries, headers, CMake package and command-line tool.

    cmake -DCMAKE_PREFIX_PATH="$(python -c 'import shunt_runtime; print(shunt_runtime.cmake_prefix())')" ...

Nothing is loaded by importing it.
"""

from importlib.metadata import version as _version
from pathlib import Path as _Path

__all__ = ["cmake_prefix", "executable", "include_dir", "library_dir"]
__version__ = _version("shunt-runtime")

_HERE = _Path(__file__).resolve().parent


def include_dir() -> str:
    """The folder for a compiler's -I: <shunt/shunt.h> is in it."""
    return str(_HERE / "include")


def library_dir() -> str:
    """The folder of libshunt.so.<version>, of libshunt_jit.so.<version>, its compiler, and of the OpenBLAS that it loads."""
    return str(_HERE / "lib")


def cmake_prefix() -> str:
    """A folder for CMAKE_PREFIX_PATH: find_package(shunt) finds the CMake package in it."""
    return str(_HERE)


def executable() -> str:
    """The program shunt."""
    return str(_HERE / "bin" / "shunt")
