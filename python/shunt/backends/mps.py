"""Apple's Metal."""


def is_available():
    """False: Shunt has no backend for it."""
    return False


def is_built():
    """False: Shunt has no backend for it."""
    return False
