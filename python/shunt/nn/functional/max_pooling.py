"""Pooling by the largest elements of windows, and its inverse."""

from shunt._autocast import by_policy
from shunt.nn.functional._common import check_padding, checked_pool, numbers, ops


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each window. Shape (N, C, H, W) or (C, H, W); the stride is the window by default.

    With `return_indices` also where in its image each is, counted row by row.
    """
    if _is_integer(input):
        values, indices = _windows(input, kernel_size, stride, padding, dilation, ceil_mode)
        return (values, indices) if return_indices else values
    f = ops.max_pool2d_with_indices if return_indices else ops.max_pool2d
    return f(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


def _is_integer(input):
    from shunt import _C

    return not input.is_floating_point() and input.dtype is not _C.bool


def _windows(input, kernel_size, stride, padding, dilation, ceil_mode):
    """max_pool2d with indices of integers, for which there is no kernel: the largest of each window of a padded
    copy."""
    from shunt import iinfo
    from shunt.nn.functional.padding import constant_pad_nd

    checked_pool(input, 2, "max_pool2d")
    kernel = numbers(kernel_size, 2, "kernel_size")
    step = kernel if stride is None or stride == () else numbers(stride, 2, "stride")
    pads, dilations = numbers(padding, 2, "padding"), numbers(dilation, 2, "dilation")
    sizes, sides = [], []
    for n, k, s, p, d in zip(input.shape[-2:], kernel, step, pads, dilations):
        check_padding("max_pool2d", p, k)
        reach = d * (k - 1) + 1
        count = (n + 2 * p - reach + (s - 1 if ceil_mode else 0)) // s + 1
        # No window begins in the padding behind the end.
        count -= ceil_mode and (count - 1) * s >= n + p
        if count < 1:
            raise RuntimeError(f"max_pool2d(): expected input with room for a window, got {list(input.shape)}")
        sizes.append(count)
        sides.append((p, (count - 1) * s + reach - n - p))
    x = constant_pad_nd(input, (*sides[1], *sides[0]), iinfo(input.dtype).min).contiguous()
    lead, (h, w) = x.shape[:-2], x.shape[-2:]
    rows = x.reshape((-1, h * w))
    shape = (rows.size(0), *sizes, *kernel)
    strides = (h * w, w * step[0], step[1], w * dilations[0], dilations[1])
    values, where = rows.as_strided(shape, strides).reshape((*shape[:3], -1)).max(-1)
    i = (
        ops.arange(sizes[0], device=x.device).unsqueeze(1) * step[0]
        - pads[0]
        + ops.div(where, kernel[1], rounding_mode="floor") * dilations[0]
    )
    j = ops.arange(sizes[1], device=x.device) * step[1] - pads[1] + ops.remainder(where, kernel[1]) * dilations[1]
    shape = (*lead, *sizes)
    return _laid_out(values.reshape(shape), input), _laid_out((i * input.size(-1) + j).reshape(shape), input)


def _laid_out(result, input):
    """An image in the memory format of the input's."""
    from shunt.nn.functional.images import format_of

    if input.dim() == 4:
        return result.contiguous(memory_format=format_of(input))
    return result.unsqueeze(0).contiguous(memory_format=format_of(input.unsqueeze(0))).squeeze(0)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each window. Shape (N, C, L) or (C, L); the stride is the window by default."""
    checked_pool(input, 1, "max_pool1d")
    sizes = [
        (1, *numbers(v, 1, name))
        for v, name in ((kernel_size, "kernel_size"), (kernel_size if stride is None else stride, "stride"))
    ]
    pad, step = numbers(padding, 1, "padding"), numbers(dilation, 1, "dilation")
    values, indices = max_pool2d(input.unsqueeze(-2), sizes[0], sizes[1], (0, *pad), (1, *step), ceil_mode, True)
    return (values.squeeze(-2), indices.squeeze(-2)) if return_indices else values.squeeze(-2)


def max_pool1d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=True
):
    """max_pool1d with the places of the largest elements."""
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=True
):
    """max_pool2d with the places of the largest elements."""
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each window. Shape (N, C, D, H, W) or (C, D, H, W); the stride is the window by default.

    The largest of each plane's windows, then of these over the depths. With `return_indices` also where in its volume
    each is, counted plane by plane.
    """
    pool = _volumes if return_indices else _values_of_volumes
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _volumes(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    checked_pool(input, 3, "max_pool3d")
    kernel = numbers(kernel_size, 3, "kernel_size")
    step = kernel if stride is None or stride == () else numbers(stride, 3, "stride")
    pads, dilations = numbers(padding, 3, "padding"), numbers(dilation, 3, "dilation")
    if 0 in input.shape[-4:]:
        raise RuntimeError(f"max_pool3d(): expected input with no size of 0 but the batch's, got {list(input.shape)}")
    lead, (d, h, w) = input.shape[:-3], input.shape[-3:]
    planes, within = max_pool2d(
        input.reshape((-1, d, h, w)), kernel[1:], step[1:], pads[1:], dilations[1:], ceil_mode, True
    )
    size = planes.shape[-2:]
    area = size[0] * size[1]
    values, places = max_pool2d(
        planes.reshape((-1, 1, d, area)), (kernel[0], 1), (step[0], 1), (pads[0], 0), (dilations[0], 1), ceil_mode, True
    )
    shape = (*lead, values.size(-2), *size)
    if not return_indices:
        return values.reshape(shape)
    places = places.flatten(1)
    within = within.flatten(1).gather(1, places)
    depths = ops.div(places, area, rounding_mode="floor")
    return values.reshape(shape), (depths * (h * w) + within).reshape(shape)


# As in PyTorch, only the operator without indices has a policy.
_values_of_volumes = by_policy("max_pool3d")(_volumes)


def max_pool3d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=True
):
    """max_pool3d with the places of the largest elements."""
    return max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def _unpooled(dims, name, input, indices, kernel_size, stride, padding, output_size):
    """Zeros, and the elements at the places that pooling found."""
    checked_pool(input, dims, name)
    if indices.shape != input.shape:
        raise RuntimeError(
            f"{name}(): expected indices of shape {list(input.shape)}, as input is, got {list(indices.shape)}"
        )
    kernel = numbers(kernel_size, dims, "kernel_size")
    step = kernel if stride is None else numbers(stride, dims, "stride")
    pads = numbers(padding, dims, "padding")
    sizes = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-dims:], step, pads, kernel)]
    if output_size is not None:
        wanted = list(output_size)[-dims:]
        if len(output_size) not in (dims, input.dim()):
            raise ValueError(f"{name}(): expected output_size with {dims} or {dims + 2} sizes, got {len(output_size)}")
        for d, (n, least, s) in enumerate(zip(wanted, sizes, step)):
            if not least - s < n < least + s:
                raise ValueError(
                    f"{name}(): expected output_size from {least - s + 1} to {least + s - 1} in dimension {d}, got "
                    f"{wanted}"
                )
        sizes = wanted
    lead, total = input.shape[:-dims], 1
    for n in sizes:
        total *= n
    canvas = input.new_zeros((*lead, total))
    result = canvas.scatter(-1, indices.flatten(-dims), input.flatten(-dims)).reshape((*lead, *sizes))
    return _laid_out(result, input) if dims == 2 else result


@by_policy("max_unpool2d")
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The inverse of max_pool1d but for the elements that it dropped, which are zeros. `indices` as it returned them.

    `output_size` chooses among the sizes that pool to the input's. ValueError for others.
    """
    return _unpooled(1, "max_unpool1d", input, indices, kernel_size, stride, padding, output_size)


@by_policy("max_unpool2d")
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The same for max_pool2d."""
    return _unpooled(2, "max_unpool2d", input, indices, kernel_size, stride, padding, output_size)


@by_policy("max_unpool3d")
def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The same for max_pool3d."""
    return _unpooled(3, "max_unpool3d", input, indices, kernel_size, stride, padding, output_size)
