"""Runs the program shunt in the place of Python: the script `shunt`, and `python -m shunt_runtime`."""

import os
import sys

from shunt_runtime import executable


def main() -> None:
    os.execv(executable(), ["shunt", *sys.argv[1:]])


if __name__ == "__main__":
    main()
