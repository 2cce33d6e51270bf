"""python -m shunt [-m MODULE | -c PROGRAM | FILE | -] [arguments...]: runs a program written for PyTorch, with Shunt
in the place of PyTorch."""

import atexit
import os
import runpy
import sys
import types

from shunt import __config__
from shunt._as_torch import as_torch, missing

_USAGE = """usage: python -m shunt [-m MODULE | -c PROGRAM | FILE | -] [arguments...]
       python -m shunt info

Runs a program written for PyTorch (- is the standard input): `import torch` is answered by Shunt, in this process
and those that it starts by `multiprocessing`. At the end it lists, on stderr, what the program asked for and Shunt
lacks. `info` shows version, CPU, libraries and environment variables."""


def _report():
    if missing:
        print("shunt: the program asked for these, which Shunt doesn't have: " + ", ".join(missing), file=sys.stderr)


def _run_text(program, name):
    """Runs the text of a program as the module __main__."""
    code = compile(program, name, "exec")
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def _show_error(kind, error, traceback):
    """sys.excepthook without the frames that run the program, which come first."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
        traceback = traceback.tb_next
    sys.__excepthook__(kind, error.with_traceback(traceback), traceback)


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, file=sys.stderr if not arguments else sys.stdout)
        return 0 if arguments else 2
    if arguments == ["info"] and not os.path.exists("info"):
        print(__config__.show(), end="")
        return 0
    if arguments[0].startswith("-") and arguments[0] not in ("-m", "-c", "-"):
        print(f"shunt: unknown option {arguments[0]}; options of Python's come before -m shunt\n{_USAGE}", file=sys.stderr)
        return 2
    sys.excepthook = _show_error
    as_torch()
    atexit.register(_report)  # below the traceback, if there is one
    first, *others = arguments
    if first in ("-m", "-c") and not others:
        print(_USAGE, file=sys.stderr)
        return 2
    if first == "-m":
        sys.argv = others
        sys.path[0] = os.getcwd()
        runpy.run_module(others[0], run_name="__main__", alter_sys=True)
    elif first in ("-c", "-"):
        sys.argv = ["-c", *others[1:]] if first == "-c" else arguments
        sys.path[0] = ""
        _run_text(*((others[0], "<string>") if first == "-c" else (sys.stdin.read(), "<stdin>")))
    else:
        if not os.path.exists(first):
            print(f"shunt: can't open {first}: no such file", file=sys.stderr)
            return 2
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(first))
        runpy.run_path(first, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
