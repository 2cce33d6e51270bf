"""How Shunt was built, and what it runs with."""

from shunt import _C


def show():
    """The version, build, CPU, libraries, compiler, disk cache and environment variables, as `shunt info` prints
    them."""
    return _C._system_info()
