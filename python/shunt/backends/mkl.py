"""MKL."""


def is_available():
    """False: Shunt doesn't use it."""
    return False
