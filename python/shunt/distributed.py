"""Programs ask here whether they can run on several machines: no."""

__all__ = ["is_available", "is_initialized", "is_torchelastic_launched"]


def is_available():
    """False: there is nothing else in this module."""
    return False


def is_initialized():
    """False."""
    return False


def is_torchelastic_launched():
    """False."""
    return False


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'shunt.distributed' has no attribute '{name}'")
    raise AttributeError(f"module 'shunt.distributed' has no attribute '{name}': Shunt runs on one machine, and "
                         "is_available() is False")
