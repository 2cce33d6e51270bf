"""What this package is, and what it was built for."""

from shunt._C import __version__

__all__ = ["__version__", "cuda", "debug", "hip", "xpu"]

debug = False
# Shunt is built without them; a backend that a program loads brings its own.
cuda = hip = xpu = None
