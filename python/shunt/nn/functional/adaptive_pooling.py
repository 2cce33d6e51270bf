"""Pooling by windows that give an output size: of even steps, or at pseudo-random places."""

from shunt._autocast import by_policy
from shunt.nn.functional._common import checked_pool, numbers, ops


def adaptive_avg_pool2d(input, output_size):
    """Means of windows that make an image of the size given: an int, or two, of which None keeps the input's."""
    return ops.adaptive_avg_pool2d(input, _sizes(input, output_size, 2))


def adaptive_avg_pool1d(input, output_size):
    """Means of windows that make a signal of the length given."""
    checked_pool(input, 1, "adaptive_avg_pool1d")
    return ops.adaptive_avg_pool2d(input.unsqueeze(-2), (1, *numbers(output_size, 1, "output_size"))).squeeze(-2)


@by_policy("adaptive_avg_pool3d")
def adaptive_avg_pool3d(input, output_size):
    """Means of windows that make a volume of the size given: an int, or three, of which None keeps the input's."""
    depth, *size = _sizes(input, output_size, 3)
    checked_pool(input, 3, "adaptive_avg_pool3d")
    lead, (d, h, w) = input.shape[:-3], input.shape[-3:]
    planes = ops.adaptive_avg_pool2d(input.reshape((-1, d, h, w)), size)
    columns = ops.adaptive_avg_pool2d(planes.reshape((-1, 1, d, size[0] * size[1])), (depth, size[0] * size[1]))
    return columns.reshape((*lead, depth, *size))


def _sizes(input, output_size, dims):
    sizes = tuple(output_size) if isinstance(output_size, tuple | list) else (output_size,) * dims
    if len(sizes) != dims:
        raise RuntimeError(f"adaptive pooling: expected output_size to be one int or {dims} ints, got {sizes}")
    if input.dim() <= dims:
        raise ValueError(f"adaptive pooling: expected input with {dims + 1} dimensions or more, got {input.dim()}")
    sizes = tuple(n if s is None else s for s, n in zip(sizes, input.shape[-dims:]))
    if any(n < 0 for n in sizes):
        raise RuntimeError(f"adaptive pooling: expected output_size of at least 0, got {sizes}")
    return sizes


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """The largest elements of windows that make a signal of the length given."""
    checked_pool(input, 1, "adaptive_max_pool1d")
    result = adaptive_max_pool2d(input.unsqueeze(-2), (1, *numbers(output_size, 1, "output_size")), True)
    values, indices = (x.squeeze(-2) for x in result)
    return (values, indices) if return_indices else values


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest elements of windows that make an image of the size given; with `return_indices` also where in its
    image each is."""
    height, width = _sizes(input, output_size, 2)
    checked_pool(input, 2, "adaptive_max_pool2d")
    h, w = input.shape[-2:]
    if 0 in (h, w) or input.size(-3) == 0:
        raise RuntimeError(
            f"adaptive_max_pool2d(): expected input with no size of 0 but the batch's, got {list(input.shape)}"
        )
    lead = input.shape[:-2]
    if height * width == 0 or 0 in lead:
        values = input.new_empty((*lead, height, width))
        return (values, ops.empty_like(values, dtype=_int64())) if return_indices else values
    places = ops.arange(h * w, device=input.device).reshape((h, w))
    values, indices = [], []
    for i in range(height):
        for j in range(width):
            rows = slice(i * h // height, -(-(i + 1) * h // height))
            columns = slice(j * w // width, -(-(j + 1) * w // width))
            largest, where = input[..., rows, columns].flatten(-2).max(-1)
            values.append(largest)
            indices.append(
                places[rows, columns].reshape((-1,)).take_along_dim(where.reshape((-1,)), 0).reshape(where.shape)
            )
    values, indices = (ops.stack(x, -1).reshape((*lead, height, width)) for x in (values, indices))
    return (values, indices) if return_indices else values


@by_policy("adaptive_max_pool3d")
def adaptive_max_pool3d(input, output_size, return_indices=False):
    """The largest elements of windows that make a volume of the size given; with `return_indices` also where in its
    volume each is."""
    depth, height, width = _sizes(input, output_size, 3)
    checked_pool(input, 3, "adaptive_max_pool3d")
    lead, (d, h, w) = input.shape[:-3], input.shape[-3:]
    planes, within = adaptive_max_pool2d(input.reshape((-1, d, h, w)), (height, width), True)
    if depth == 0:
        values = input.new_empty((*lead, depth, height, width))
        return (values, ops.empty_like(values, dtype=_int64())) if return_indices else values
    values, indices = [], []
    for i in range(depth):
        first, end = i * d // depth, -(-(i + 1) * d // depth)
        largest, where = planes[:, first:end].max(1, True)
        values.append(largest)
        indices.append(within[:, first:end].gather(1, where) + (where + first) * (h * w))
    values, indices = (ops.cat(x, 1).reshape((*lead, depth, height, width)) for x in (values, indices))
    return (values, indices) if return_indices else values


def adaptive_max_pool1d_with_indices(input, output_size, return_indices=True):
    """adaptive_max_pool1d with the places of the largest elements."""
    return adaptive_max_pool1d(input, output_size, True)


def adaptive_max_pool2d_with_indices(input, output_size, return_indices=True):
    """adaptive_max_pool2d with the places of the largest elements."""
    return adaptive_max_pool2d(input, output_size, True)


def adaptive_max_pool3d_with_indices(input, output_size, return_indices=True):
    """adaptive_max_pool3d with the places of the largest elements."""
    return adaptive_max_pool3d(input, output_size, True)


def _fractional(dims, name, input, kernel_size, output_size, output_ratio, return_indices, samples):
    """The largest of windows that begin at pseudo-random places, between one and two steps of a fraction apart."""
    checked_pool(input, dims, name)
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name}(): expected output_size or output_ratio, got neither")
    kernel, sizes = numbers(kernel_size, dims, "kernel_size"), tuple(input.shape[-dims:])
    if output_size is None:
        output_size = [int(n * r) for n, r in zip(sizes, numbers(output_ratio, dims, "output_ratio"))]
    output_size = numbers(output_size, dims, "output_size")
    x = input if input.dim() == dims + 2 else input.unsqueeze(0)
    n, channels = x.shape[:2]
    if samples is None:
        samples = input.new_empty((n, channels, dims)).uniform_(0, 1)
    samples, index = samples[:n], None
    for d, (size, k, out) in enumerate(zip(sizes, kernel, output_size)):
        if out + k - 1 > size:
            raise RuntimeError(
                f"{name}(): pool size {k} relative to the input's size {size} is too large for {out} windows"
            )
        # Of images the width's samples come first, as in PyTorch. Shape (n, channels, out, k).
        starts = _starts(samples[..., 1 - d if dims == 2 else d], size, k, out)
        at = starts.unsqueeze(-1) + ops.arange(k, device=starts.device)
        shape = [n, channels] + [1] * (2 * dims)
        shape[2 + d], shape[2 + dims + d] = out, k
        at = at.reshape(shape)
        index = at if index is None else index * size + at
    places = index.flatten(2 + dims).flatten(2, 1 + dims)
    values, where = x.flatten(2).gather(2, places.flatten(2)).reshape(places.shape).max(-1)
    shape = (*input.shape[:-dims], *output_size)
    if not return_indices:
        return values.reshape(shape)
    return values.reshape(shape), places.gather(-1, where.unsqueeze(-1)).reshape(shape)


def _starts(sample, size, kernel, out):
    """Where `out` windows begin: floors of a line with the sample's offset; the last one ends with the input."""
    last = ops.full_like(sample, size - kernel).unsqueeze(-1)
    if out > 1:
        step = (size - kernel) / (out - 1)
        offset = sample.unsqueeze(-1)
        line = ops.floor((ops.arange(out - 1, device=sample.device) + offset) * step) - ops.floor(offset * step)
        last = ops.cat([line.to(last.dtype), last], -1)
    return last.to(_int64())


@by_policy("fractional_max_pool2d")
def fractional_max_pool2d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """The largest elements of windows at pseudo-random places (Graham 2014). Shape (N, C, H, W) or (C, H, W).

    Args:
        output_size, output_ratio: how many windows, or how many as a part of the input's size: one of the two.
        return_indices: whether to return also where in its image each is.
    """
    return _fractional(
        2, "fractional_max_pool2d", input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


@by_policy("fractional_max_pool3d")
def fractional_max_pool3d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """The same of volumes. Shape (N, C, D, H, W) or (C, D, H, W)."""
    return _fractional(
        3, "fractional_max_pool3d", input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


def fractional_max_pool2d_with_indices(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=True, _random_samples=None
):
    """fractional_max_pool2d with the places of the largest elements."""
    return fractional_max_pool2d(input, kernel_size, output_size, output_ratio, True, _random_samples)


def fractional_max_pool3d_with_indices(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=True, _random_samples=None
):
    """fractional_max_pool3d with the places of the largest elements."""
    return fractional_max_pool3d(input, kernel_size, output_size, output_ratio, True, _random_samples)


def _int64():
    from shunt._C import int64

    return int64
