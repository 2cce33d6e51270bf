"""Finds PyTorch without importing it. As a program: prints, as JSON, what an extension for this Python is compiled
with."""

import importlib.util
import json
import os
import runpy
import sys
import sysconfig


def torch_folder():
    """The folder of the package torch, or None.

    pip builds in an environment of its own, which hides the one that it installs into; so that one's packages are
    looked at as files.
    """
    spec = importlib.util.find_spec("torch")
    if spec is not None and spec.origin:
        return os.path.dirname(spec.origin)
    for scheme in ("purelib", "platlib"):
        folder = os.path.join(sysconfig.get_path(scheme), "torch")
        if os.path.isfile(os.path.join(folder, "version.py")):
            return folder
    return None


def torch_version(folder):
    """What torch.__version__ is, such as "2.13.0+cpu"."""
    return str(runpy.run_path(os.path.join(folder, "version.py"))["__version__"])


def main():
    folder = torch_folder()
    if folder is None:
        sys.exit(f"{sys.executable} has no PyTorch")
    with open(os.path.join(folder, "lib", "libc10.so"), "rb") as library:
        cxx11_abi = b"__cxx11" in library.read()
    json.dump({
        "version": torch_version(folder),
        "include": os.path.join(folder, "include"),
        "lib": os.path.join(folder, "lib"),
        "cxx11_abi": int(cxx11_abi),
        "python_include": sysconfig.get_path("include"),
        "suffix": sysconfig.get_config_var("EXT_SUFFIX"),
    }, sys.stdout)


if __name__ == "__main__":
    main()
