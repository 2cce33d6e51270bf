"""For tests: comparisons of results, and tensors of random numbers."""

from shunt.testing._compare import assert_close
from shunt.testing._make import make_tensor

__all__ = ["assert_close", "make_tensor"]
