"""python -m shunt FILE [arguments...]: runs a program written for PyTorch, with Shunt in the place of PyTorch."""

import atexit
import os
import runpy
import sys

from shunt._as_torch import as_torch, missing

_USAGE = """usage: python -m shunt [-m MODULE | FILE] [arguments...]

Runs a program written for PyTorch: `import torch` is answered by Shunt, in this process only. At the end it lists, on
stderr, what the program asked for and Shunt lacks."""


def _report():
    if missing:
        print("shunt: the program asked for these, which Shunt doesn't have: " + ", ".join(missing), file=sys.stderr)


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, file=sys.stderr if not arguments else sys.stdout)
        return 0 if arguments else 2
    as_torch()
    atexit.register(_report)  # below the traceback, if there is one
    if arguments[0] == "-m":
        if len(arguments) < 2:
            print(_USAGE, file=sys.stderr)
            return 2
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        if not os.path.exists(arguments[0]):
            print(f"shunt: can't open {arguments[0]}: no such file", file=sys.stderr)
            return 2
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
