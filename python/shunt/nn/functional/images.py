"""Rearranged and resampled images: pixel_shuffle, unfold, interpolate."""

import math

from shunt import _C
from shunt.nn.functional._common import numbers, ops


def pixel_shuffle(input, upscale_factor):
    """r * r channels as one of r times the height and width. Shape (*, C * r^2, H, W) to (*, C, H * r, W * r)."""
    return ops.pixel_shuffle(input, upscale_factor)


def pixel_unshuffle(input, downscale_factor):
    """The inverse of pixel_shuffle. Shape (*, C, H * r, W * r) to (*, C * r^2, H, W)."""
    return ops.pixel_unshuffle(input, downscale_factor)


def channel_shuffle(input, groups):
    """Channels in the order 1st of each group, 2nd of each group, ... Shape (N, C, *)."""
    if input.dim() < 3:
        raise RuntimeError(
            f"channel_shuffle(): expected input with 3 dimensions or more, got shape {list(input.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(f"channel_shuffle(): expected groups greater than 0, got {groups}")
    n, c = input.shape[:2]
    if c % groups:
        raise RuntimeError(f"channel_shuffle(): expected groups that divide the {c} channels, got {groups}")
    return input.reshape((n, groups, c // groups, *input.shape[2:])).transpose(1, 2).reshape(input.shape).contiguous()


def _blocks(size, kernel, dilation, pad, step):
    return (size + 2 * pad - dilation * (kernel - 1) - 1) // step + 1


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of images as columns. Shape (N, C, H, W) to (N, C * KH * KW, number of windows), also without N."""
    from shunt.nn.functional.padding import constant_pad_nd

    if input.dim() not in (3, 4):
        raise RuntimeError(f"unfold(): expected input with 3 or 4 dimensions, got shape {list(input.shape)}")
    kernel, step = numbers(kernel_size, 2, "kernel_size"), numbers(stride, 2, "stride")
    dilations, pads = numbers(dilation, 2, "dilation"), numbers(padding, 2, "padding")
    images = input if input.dim() == 4 else input.unsqueeze(0)
    x = constant_pad_nd(images, (pads[1], pads[1], pads[0], pads[0])) if any(pads) else images.contiguous()
    n, c, h, w = x.shape
    rows, columns = (_blocks(s, *v) for s, *v in zip(images.shape[2:], kernel, dilations, pads, step))
    if rows < 1 or columns < 1:
        raise RuntimeError(
            f"unfold(): expected images with room for a block, got {rows} rows and {columns} columns of them for size "
            f"{tuple(images.shape[2:])}, kernel_size={kernel}, dilation={dilations}, padding={pads}"
        )
    windows = x.as_strided(
        (n, c, *kernel, rows, columns),
        (c * h * w, h * w, w * dilations[0], dilations[1], w * step[0], step[1]),
        x.storage_offset(),
    )
    result = windows.reshape((n, c * kernel[0] * kernel[1], rows * columns))
    return result if input.dim() == 4 else result.squeeze(0)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Images that columns of windows add up to: the inverse of unfold but that windows overlap. Shape (N, C * KH * KW,
    windows) to
    (N, C, H, W), also without N."""
    if input.dim() not in (2, 3):
        raise RuntimeError(f"fold(): expected input with 2 or 3 dimensions, got shape {list(input.shape)}")
    h, w = numbers(output_size, 2, "output_size")
    kernel, step = numbers(kernel_size, 2, "kernel_size"), numbers(stride, 2, "stride")
    dilations, pads = numbers(dilation, 2, "dilation"), numbers(padding, 2, "padding")
    x = input if input.dim() == 3 else input.unsqueeze(0)
    rows, columns = (_blocks(s, *v) for s, *v in zip((h, w), kernel, dilations, pads, step))
    if x.size(1) % (kernel[0] * kernel[1]) or x.size(2) != rows * columns:
        raise RuntimeError(
            f"fold(): expected {rows * columns} windows of {kernel[0] * kernel[1]} elements for an output of size "
            f"{(h, w)}, but got input of size {list(input.shape)}"
        )
    n, c = x.size(0), x.size(1) // (kernel[0] * kernel[1])
    blocks = x.reshape((n, c, *kernel, rows, columns))
    canvas = x.new_zeros((n, c, h + 2 * pads[0], w + 2 * pads[1]))
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * dilations[0], j * dilations[1]
            place = (
                ...,
                slice(top, top + step[0] * (rows - 1) + 1, step[0]),
                slice(left, left + step[1] * (columns - 1) + 1, step[1]),
            )
            canvas[place] = canvas[place] + blocks[:, :, i, j]
    result = canvas[:, :, pads[0] : pads[0] + h, pads[1] : pads[1] + w].contiguous()
    return result if input.dim() == 3 else result.squeeze(0)


def _resample(x, dim, index, weights):
    """The weighted sum of elements along a dimension: for each result the places `index[k]` with `weights[k]`."""
    from shunt import tensor

    shape = [1] * x.dim()
    shape[dim] = -1
    result = None
    for places, factors in zip(index, weights):
        factors = tensor(factors, dtype=x.dtype, device=x.device)
        part = x.index_select(dim, tensor(places, device=x.device)) * factors.reshape(shape)
        result = part if result is None else result + part
    return result


def _source(i, scale, align_corners, cubic=False):
    at = i * scale if align_corners else (i + 0.5) * scale - 0.5
    return at if cubic or at > 0 else 0.0


def _linear(size, out, scale, align_corners):
    low, high, upper = [], [], []
    for i in range(out):
        at = _source(i, scale, align_corners)
        first = min(int(at), size - 1)
        low.append(first)
        high.append(min(first + 1, size - 1))
        upper.append(min(at - first, 1.0))
    return (low, high), ([1.0 - t for t in upper], upper)


_CUBIC_A = -0.75  # the free number of cubic convolution (Keys 1981)


def _cubic(size, out, scale, align_corners):
    a = _CUBIC_A
    index, weights = ([], [], [], []), ([], [], [], [])
    for i in range(out):
        at = _source(i, scale, align_corners, cubic=True)
        first = math.floor(at)
        t = at - first
        for k, d in enumerate((t + 1, t, 1 - t, 2 - t)):
            index[k].append(min(max(first - 1 + k, 0), size - 1))
            weights[k].append(
                ((a + 2) * d - (a + 3)) * d * d + 1 if k in (1, 2) else ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
            )
    return index, weights


def _whole_weights(weights):
    """The largest power of 2 by which the weights become numbers of 16 bits, and the weights times it, rounded."""
    largest = max(map(max, weights))
    one = 1
    while one < 2**22 and 0.5 + largest * one * 2 < 2**15:
        one *= 2
    return one, [[math.floor(abs(w) * one + 0.5) * math.copysign(1, w) for w in row] for row in weights]


def _scale(size, out, factor, align_corners):
    if align_corners:
        return (size - 1) / (out - 1) if out > 1 else 0.0
    return 1.0 / factor if factor is not None and factor > 0 else size / out


_OPERATORS = {"nearest": "upsample_nearest", "linear": "upsample_linear", "bilinear": "upsample_bilinear"}
_MODES = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Signals, images or volumes resampled to a size, or by a factor. Shape (N, C, *sizes), with one to three sizes.

    Args:
        size, scale_factor: one of the two: a number, or one for each size.
        mode: "nearest", "nearest-exact", "linear" (one size), "bilinear", "bicubic" (two), "trilinear" (three), "area".
        align_corners: whether the corners' centres keep their values; of the linear and cubic modes.
        recompute_scale_factor: whether the factor is computed anew from the sizes.
        antialias: not implemented (NotImplementedError).
    """
    from shunt import float32, tensor, uint8

    dims = input.dim() - 2
    modes = ("nearest", "area", "nearest-exact", *_MODES)
    if mode not in modes:
        from shunt._near_names import did_you_mean
        raise NotImplementedError(f"interpolate(): expected mode to be one of {', '.join(map(repr, modes))}, got {mode!r}"
                                  + did_you_mean(str(mode), modes))
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                f"interpolate(): expected align_corners=None for mode {mode!r}, which has no corners to align, got "
                f"{align_corners}"
            )
    elif align_corners is None:
        align_corners = False
    if antialias:
        raise NotImplementedError("interpolate(): antialias=True is not implemented")
    if dims not in (1, 2, 3):
        raise NotImplementedError(f"interpolate(): expected input with 3, 4 or 5 dimensions, got {input.dim()}")
    if mode in _MODES and _MODES[mode] != dims:
        raise NotImplementedError(
            f"interpolate(): expected input with {_MODES[mode] + 2} dimensions for mode {mode!r}, got {input.dim()}"
        )
    sizes, factors = _output_sizes(input, size, scale_factor, recompute_scale_factor, dims)
    if mode == "area":
        from shunt.nn.functional import adaptive_pooling as pooling

        return (pooling.adaptive_avg_pool1d, pooling.adaptive_avg_pool2d, pooling.adaptive_avg_pool3d)[dims - 1](
            input, tuple(sizes)
        )
    if dims < 3 and mode in _OPERATORS:
        operator = getattr(ops, _OPERATORS[mode] + f"{dims}d")
        return operator(input, sizes, *([] if mode == "nearest" else [align_corners]), *factors)
    # Bytes are weighted by whole numbers, and are bytes again after each dimension, the last one first.
    as_bytes = input.dtype is uint8 and mode in _MODES
    result = input.to(float32) if as_bytes else input
    for d in reversed(range(dims)) if as_bytes else range(dims):
        n, out, factor = input.size(d + 2), sizes[d], factors[d]
        if n == 0 or out <= 0:
            raise RuntimeError(
                f"interpolate(): expected sizes greater than 0, got {n} for input and {out} for the result"
            )
        scale = _scale(n, out, factor, align_corners)
        if mode == "trilinear" and out == n:
            scale = 1.0  # as in PyTorch, whatever the factor
        if mode.startswith("nearest"):
            half = 0.5 if mode == "nearest-exact" else 0.0
            places = [min(int((i + half) * scale), n - 1) for i in range(out)]
            result = result.index_select(d + 2, tensor(places, device=result.device))
        else:
            index, weights = (_cubic if mode == "bicubic" else _linear)(n, out, scale, align_corners)
            if as_bytes:
                one, weights = _whole_weights(weights)
                result = ((_resample(result, d + 2, index, weights) + one / 2) / one).floor().clamp(0, 255)
            else:
                result = _resample(result, d + 2, index, weights)
    return result.to(input.dtype).contiguous(memory_format=format_of(input))


def format_of(x):
    """The memory format that a result of its number of dimensions takes over."""
    from shunt import _C

    for dims, last in ((4, _C.channels_last), (5, _C.channels_last_3d)):
        if x.dim() == dims and x.is_contiguous(memory_format=last) and not x.is_contiguous():
            return last
    return _C.contiguous_format


def _output_sizes(input, size, scale_factor, recompute, dims):
    if size is not None and scale_factor is not None:
        raise ValueError(f"interpolate(): expected size or scale_factor, got both, {size} and {scale_factor}")
    if size is not None:
        if isinstance(size, tuple | list) and len(size) != dims:
            raise ValueError(
                f"interpolate(): expected size with {dims} numbers for input of shape {list(input.shape)}, got {size}"
            )
        if recompute:
            raise ValueError("interpolate(): recompute_scale_factor expects a scale_factor to compute, got a size")
        return list(size) if isinstance(size, tuple | list) else [size] * dims, [None] * dims
    if scale_factor is None:
        raise ValueError("interpolate(): expected size or scale_factor, got neither")
    if isinstance(scale_factor, tuple | list):
        if len(scale_factor) != dims:
            raise ValueError(
                f"interpolate(): expected scale_factor with {dims} numbers for input of shape {list(input.shape)}, got "
                f"{scale_factor}"
            )
        factors = list(scale_factor)
    else:
        factors = [scale_factor] * dims
    sizes = [math.floor(n * f) for n, f in zip(input.shape[2:], factors)]
    return sizes, [None] * dims if recompute else factors


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """interpolate, by its older name."""
    _C._warn("nn.functional.upsample() is deprecated; call nn.functional.interpolate()")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """interpolate with mode "nearest"."""
    _C._warn("nn.functional.upsample_nearest() is deprecated; call nn.functional.interpolate()")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """interpolate with mode "bilinear" and align_corners."""
    _C._warn("nn.functional.upsample_bilinear() is deprecated; call nn.functional.interpolate()")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
