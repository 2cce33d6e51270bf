"""Windows for signals."""

import math

from shunt import _C
from shunt import _operators as ops

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _places(name, window_length, periodic, dtype):
    """The numbers 0 to window_length - 1 in float64 on the CPU, and what the last one, of a symmetric window, is."""
    if not isinstance(window_length, int) or window_length < 0:
        raise RuntimeError(f"{name}(): window_length has to be a non-negative int, not {window_length!r}")
    dtype = dtype or _C.get_default_dtype()
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    n = ops.arange(window_length, dtype=_C.float64, device="cpu")
    return n, max(1, window_length if periodic else window_length - 1), dtype


def _made(values, dtype, device, requires_grad):
    device = _C.get_default_device() if device is None else device
    return values.to(device=device, dtype=dtype).requires_grad_(requires_grad)


def _of_cosines(name, terms, window_length, periodic, dtype, device, requires_grad):
    n, period, dtype = _places(name, window_length, periodic, dtype)
    if window_length == 1:
        return ops.ones((1,), dtype=dtype, device=device).requires_grad_(requires_grad)
    angle = n * (2 * math.pi / period)
    result = sum((term * (angle * k).cos() for k, term in enumerate(terms) if k), ops.full_like(n, terms[0]))
    return _made(result, dtype, device, requires_grad)


def hann_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """Hann's window of this length. `periodic` leaves out the last element of a symmetric one that is longer by 1."""
    return _of_cosines("hann_window", (0.5, -0.5), window_length, periodic, dtype, device, requires_grad)


def hamming_window(
    window_length,
    periodic=True,
    alpha=0.54,
    beta=0.46,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """Hamming's window: alpha - beta * cos(...)."""
    return _of_cosines("hamming_window", (alpha, -beta), window_length, periodic, dtype, device, requires_grad)


def blackman_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """Blackman's window."""
    result = _of_cosines("blackman_window", (0.42, -0.5, 0.08), window_length, periodic, dtype, device, False)
    return result.requires_grad_(requires_grad)


def bartlett_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """Bartlett's window, a triangle."""
    n, period, dtype = _places("bartlett_window", window_length, periodic, dtype)
    if window_length == 1:
        return ops.ones((1,), dtype=dtype, device=device).requires_grad_(requires_grad)
    return _made(1 - (2 * n / period - 1).abs(), dtype, device, requires_grad)


def bessel_0(x):
    """The modified Bessel function of order 0, by its series, for numbers up to some hundred."""
    half, term = (x / 2) ** 2, ops.ones_like(x)
    total, k = term, 0
    while bool((term > total * 1e-17).any()):
        k += 1
        term = term * half / (k * k)
        total = total + term
    return total


def kaiser_window(
    window_length,
    periodic=True,
    beta=12.0,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """Kaiser's window, narrower for a larger beta."""
    n, period, dtype = _places("kaiser_window", window_length, periodic, dtype)
    if window_length == 1:
        return ops.ones((1,), dtype=dtype, device=device).requires_grad_(requires_grad)
    inside = (1 - (2 * n / period - 1) ** 2).clamp(min=0).sqrt()
    result = bessel_0(inside * beta) / bessel_0(ops.full_like(inside[:1], float(beta)))
    return _made(result, dtype, device, requires_grad)
