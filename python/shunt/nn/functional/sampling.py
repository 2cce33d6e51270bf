"""grid_sample and affine_grid: images and volumes read at any places."""

from shunt._autocast import by_policy
from shunt.nn.functional._common import ops
from shunt.nn.functional.images import _CUBIC_A

_PADDINGS = ("zeros", "border", "reflection")


def _coordinate(x, size, align_corners):
    """From -1 ... 1 to 0 ... size - 1."""
    return (x + 1) / 2 * (size - 1) if align_corners else ((x + 1) * size - 1) / 2


def _reflected(x, low, high):
    """Places mirrored at `low` and `high` (halves of places, doubled) until they are between them."""
    if low == high:
        return ops.zeros_like(x)
    least, span = low / 2, (high - low) / 2
    x = ops.abs(x - least)
    turns, rest = ops.floor(x / span), ops.fmod(x, span)
    return ops.where(ops.remainder(turns, 2) == 0, rest + least, span - rest + least)


def _padded(x, size, padding_mode, align_corners):
    """Places beyond the borders moved by the padding mode."""
    if padding_mode == "zeros":
        return x
    if padding_mode == "reflection":
        x = _reflected(x, 0, 2 * (size - 1)) if align_corners else _reflected(x, -1, 2 * size - 1)
    # A place that isn't a number, such as the mirrored infinity, is the first one.
    return ops.where(x == x, ops.clamp(x, 0, size - 1), 0)


def _read(input, places):
    """The elements at places, a tensor of floats for each dimension of sizes; 0 outside. Shape (N, C, *places)."""
    from shunt import _C

    sizes, inside, index = input.shape[2:], None, None
    for x, size in zip(places, sizes):
        within = (x >= 0) & (x <= size - 1)
        inside = within if inside is None else inside & within
        at = ops.where(within, x, ops.zeros_like(x)).to(_C.int64)
        index = at if index is None else index * size + at
    n, channels = input.shape[:2]
    flat = index.reshape((n, 1, -1)).expand((n, channels, index.numel() // max(n, 1)))
    values = input.flatten(2).gather(2, flat).reshape((n, channels, *index.shape[1:]))
    # Not a product with zeros: what stands in for places outside may be infinite.
    return ops.where(inside.unsqueeze(1), values, ops.zeros_like(values))


def _linear(input, places):
    result = None
    lows = [ops.floor(x.detach()) for x in places]
    for corner in range(2 ** len(places)):
        at, weight = [], None
        for d, (x, low) in enumerate(zip(places, lows)):
            upper = corner >> d & 1
            at.append(low + upper)
            part = x - low if upper else low + 1 - x
            weight = part if weight is None else weight * part
        term = _read(input, at) * weight.unsqueeze(1)
        result = term if result is None else result + term
    return result


def _cubic_weights(t):
    a = _CUBIC_A
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (t, 1 - t)]
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (t + 1, 2 - t)]
    return far[0], near[0], near[1], far[1]


def _cubic(input, places, padding_mode, align_corners):
    lows = [ops.floor(x.detach()) for x in places]
    rows, columns = (_cubic_weights(x - low) for x, low in zip(places, lows))
    result = None
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            at = [
                _padded(low + k - 1, size, padding_mode, align_corners)
                for low, k, size in zip(lows, (i, j), input.shape[2:])
            ]
            term = _read(input, at) * (row * column).unsqueeze(1)
            result = term if result is None else result + term
    return result


@by_policy("grid_sampler")
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """The input at places that `grid` names. Shapes (N, C, H, W) and (N, h, w, 2) to (N, C, h, w), or (N, C, D, H, W)
    and (N, d, h, w, 3) to (N, C, d, h, w).

    Args:
        grid: places, x first, then y (and z): -1 and 1 are the borders.
        mode: "bilinear", "nearest", or, of images, "bicubic".
        padding_mode: what is beyond the borders: "zeros", the "border", or its "reflection".
        align_corners: whether -1 and 1 are the centres of the outermost elements, rather than their edges.
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"grid_sample(): mode is one of 'bilinear', 'nearest' and 'bicubic', got {mode!r}")
    if padding_mode not in _PADDINGS:
        raise ValueError(
            f"grid_sample(): padding_mode is one of 'zeros', 'border' and 'reflection', got {padding_mode!r}"
        )
    dims = input.dim() - 2
    if dims not in (2, 3) or grid.dim() != input.dim():
        raise RuntimeError(
            "grid_sample(): expected input and grid both with 4 or both with 5 dimensions, got shapes "
            f"{list(input.shape)} and {list(grid.shape)}"
        )
    if input.size(0) != grid.size(0) or grid.size(-1) != dims:
        raise RuntimeError(
            f"grid_sample(): expected grid of {input.size(0)} batches and {dims} coordinates, got shapes "
            f"{list(input.shape)} of input and {list(grid.shape)} of grid"
        )
    if mode == "bicubic" and dims != 2:
        raise RuntimeError(f"grid_sample(): mode='bicubic' expects input with 4 dimensions, got {input.dim()}")
    align_corners = bool(align_corners)
    # The last dimension's place comes first in the grid.
    places = [_coordinate(grid[..., dims - 1 - d], size, align_corners) for d, size in enumerate(input.shape[2:])]
    if mode == "bicubic":
        return _cubic(input, places, padding_mode, align_corners)
    places = [_padded(x, size, padding_mode, align_corners) for x, size in zip(places, input.shape[2:])]
    return _read(input, [ops.round(x) for x in places]) if mode == "nearest" else _linear(input, places)


def affine_grid(theta, size, align_corners=None):
    """The places for grid_sample of an image under affine maps. Shapes: theta (N, 2, 3), size (N, C, H, W) to
    (N, H, W, 2); or (N, 3, 4), (N, C, D, H, W) to (N, D, H, W, 3)."""
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(f"affine_grid(): expected size with 4 numbers, or 5 for volumes, got {tuple(size)}")
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid(): expected theta of a floating-point dtype, got {theta.dtype}")
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (dims, dims + 1):
        raise ValueError(
            f"affine_grid(): expected theta of shape (N, {dims}, {dims + 1}) for size {tuple(size)}, got "
            f"{tuple(theta.shape)}"
        )
    if min(size) <= 0:
        raise ValueError(f"affine_grid(): expected sizes greater than 0, got {tuple(size)}")
    sizes = list(size)[2:]
    axes = []
    for d in reversed(range(dims)):
        n = sizes[d]
        line = ops.linspace(-1, 1, n, dtype=theta.dtype, device=theta.device) if n > 1 else theta.new_zeros((1,))
        if not align_corners:
            line = line * ((n - 1) / n)
        axes.append(line.reshape([-1 if k == d else 1 for k in range(dims)]).expand(sizes))
    base = ops.stack([*axes, ops.ones(sizes, dtype=theta.dtype, device=theta.device)], -1).reshape((1, -1, dims + 1))
    return (base @ theta.transpose(1, 2)).reshape((theta.size(0), *sizes, dims))
