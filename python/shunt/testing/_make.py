"""make_tensor."""

import math

from shunt import _C
from shunt import _operators as ops


def _range(dtype, low, high):
    if dtype is _C.bool:
        least, most = 0, 2
    elif dtype is _C.uint8:
        least, most = 0, 10
    elif dtype.is_floating_point:
        least, most = -9, 9
    else:
        least, most = -9, 10
    low, high = least if low is None else low, most if high is None else high
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (low, high)):
        raise ValueError(f"make_tensor(): expected numbers as low and high, got {low} and {high}")
    if low > high or (low == high and not dtype.is_floating_point):
        raise ValueError(f"make_tensor(): expected low below high, got {low} and {high}")
    return low, high


def make_tensor(
    *shape,
    dtype,
    device="cpu",
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """A tensor of random numbers between `low` and `high`.

    Args:
        shape: ints, or one sequence of them.
        low, high: -9 and 9 by default, 0 and 9 for uint8; integers are below `high`, with 9 among them by default.
        noncontiguous: whether elements are apart in memory.
        exclude_zero: replaces zeros by the smallest number above.
    """
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = shape[0]
    shape = tuple(shape)
    if requires_grad and not dtype.is_floating_point:
        raise ValueError(f"make_tensor(): requires_grad=True expects a floating-point dtype, got {dtype}")
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"make_tensor(): expected noncontiguous or a memory_format, got both, {noncontiguous} and {memory_format}"
        )
    low, high = _range(dtype, low, high)
    drawn = (*shape[:-1], shape[-1] * 2) if noncontiguous and math.prod(shape) > 1 else shape
    if dtype.is_floating_point:
        result = (ops.rand(drawn, dtype=_C.float64) * (high - low) + low).clamp(low, high).to(dtype).to(device)
    else:
        result = ops.randint(math.ceil(low), math.ceil(high), drawn, dtype=dtype, device=device)
    if drawn != shape:
        result = result[..., ::2]
    if exclude_zero:
        from shunt import finfo

        result[result == 0] = finfo(dtype).tiny if dtype.is_floating_point else 1
    if memory_format is not None:
        result = result.clone(memory_format=memory_format)
    return result.requires_grad_(requires_grad)
