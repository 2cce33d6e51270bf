"""oneDNN as PyTorch uses it."""


def is_available():
    """False: Shunt doesn't use it."""
    return False
