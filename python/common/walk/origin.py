"""Where code, classes and modules come from: the tensor library and this package, the standard library, or anybody else
(a user).

What the library's own files do is not walked: their state is guarded by the surroundings of a recording.
"""

from __future__ import annotations

import os
import sys
import types

from . import library

LIBRARY, STANDARD, USER = "library", "standard", "user"

_LIBRARY_FOLDERS = library.FOLDERS


def _standard_folders() -> set[str]:
    """What sysconfig calls stdlib and platstdlib, which takes long to import."""
    python = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    folders = {os.path.join(root, sys.platlibdir, python) for root in (sys.base_prefix, sys.base_exec_prefix)}
    folders |= {os.path.join(sys.base_prefix, "lib", python), os.path.dirname(os.__file__)}
    return {f + os.sep for folder in folders for f in (folder, os.path.realpath(folder))}


STANDARD_FOLDERS = tuple(_standard_folders())
_PACKAGES = os.sep + "site-packages" + os.sep
_PACKAGE_FOLDERS = (_PACKAGES, os.sep + "dist-packages" + os.sep)
_LIBRARY_PACKAGES = library.PACKAGES


def of_name(module: str | None) -> str:
    """The origin of a module's name; None and anything that isn't a name: a user's."""
    root = module.partition(".")[0] if isinstance(module, str) else ""
    if root in _LIBRARY_PACKAGES:
        return LIBRARY
    return STANDARD if root in sys.stdlib_module_names and _is_standard(root) else USER


_standard: dict = {}  # by name: the module, and whether it is the standard library's


def _is_standard(name: str) -> bool:
    """A user's file may have the name of a module of the standard library's."""
    module = sys.modules.get(name)
    known = _standard.get(name)
    if known is None or known[0] is not module:
        known = _standard[name] = module, _has_standard_file(module)
    return known[1]


def _has_standard_file(module: types.ModuleType | None) -> bool:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or ".zip" + os.sep in file:
        return True
    return file.startswith(STANDARD_FOLDERS) and not is_installed(file)


def is_installed(file: str) -> bool:
    """Whether a file is an installed package's."""
    return any(folder in file for folder in _PACKAGE_FOLDERS)


def of_code(code: types.CodeType, module_name: str | None) -> str:
    """The origin of a code object. Generated code has no file: the module whose globals it uses (`module_name`)
    decides."""
    file = code.co_filename
    if file.startswith("<frozen importlib"):
        return LIBRARY  # the import system is nobody's computation
    if file.startswith("<"):
        return of_name(module_name)
    if file.startswith(_LIBRARY_FOLDERS):
        return LIBRARY
    _, installed, package = file.rpartition(_PACKAGES)
    if installed:
        return STANDARD if package.partition(os.sep)[0].partition(".")[0] in library.DEPENDENCIES else USER
    return STANDARD if file.startswith(STANDARD_FOLDERS) else USER


def effect_of(code: types.CodeType) -> str | None:
    """What a function of the tensor library's is called that does what no operator shows; None for others."""
    for folder in _LIBRARY_FOLDERS:
        if code.co_filename.startswith(folder):
            place = code.co_filename[len(folder):].replace(os.sep, "/"), code.co_name
            return library.EFFECTS.get(place)
    return None


def of_class(kind: type) -> str:
    return of_name(type.__dict__["__module__"].__get__(kind))


def is_extension_class(kind: type) -> bool:
    """Whether a class is made in C, so that its instances can have state that Python doesn't show."""
    if not kind.__flags__ & (1 << 9):  # Py_TPFLAGS_HEAPTYPE
        return True
    slots = (types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType)
    for name, value in vars(kind).items():
        if isinstance(value, slots) and value.__objclass__ is kind and name not in ("__dict__", "__weakref__"):
            return True
        if name == "__new__" and isinstance(value, types.BuiltinFunctionType) and value.__self__ is kind:
            return True
    return False
