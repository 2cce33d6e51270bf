"""What has to hold before the extension is loaded: a Python that it is written for, and one libshunt in the process."""

import sys

from shunt._libshunt import load_libshunt


def check_python() -> None:
    """ImportError in a free-threaded build of Python."""
    if "t" in sys.abiflags:
        raise ImportError("shunt isn't written yet for free-threaded builds of Python: its objects rely on the "
                          "interpreter's lock. Use the usual build of Python %d.%d." % sys.version_info[:2])


check_python()
load_libshunt()
