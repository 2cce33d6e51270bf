"""Which implementation of scaled_dot_product_attention programs ask for: there is one, MATH."""

import contextlib
import enum

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.IntEnum):
    """Implementations by PyTorch's names."""
    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """A block in which attention is computed by one of these implementations.

    Args:
        backends: one of SDPBackend, or a list of them; MATH has to be among them (RuntimeError).
        set_priority: accepted; one implementation needs no order.
    """
    if isinstance(backends, SDPBackend):
        backends = [backends]
    if not isinstance(backends, (list, tuple)) or not all(isinstance(b, SDPBackend) for b in backends):
        raise AssertionError(f"sdpa_kernel(): backends: expected an SDPBackend or a list of them, got {backends!r}")
    if SDPBackend.MATH not in backends:
        raise RuntimeError("sdpa_kernel(): backends: expected SDPBackend.MATH among them, the only implementation of "
                           f"scaled_dot_product_attention, got {[b.name for b in backends]}")
    yield
