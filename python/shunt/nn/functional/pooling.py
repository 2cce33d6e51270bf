"""Pooling by the means of windows, or their norms."""

from shunt._autocast import by_policy
from shunt.nn.functional._common import check_padding, checked_pool, into, numbers, ops


def avg_pool2d(
    input,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
    *,
    out=None,
):
    """The mean of each window. Shape (N, C, H, W) or (C, H, W); the stride is the window by default.

    Args:
        count_include_pad: whether the zeros that are put around the image count as elements.
        divisor_override: what the sums are divided by instead of the number of elements.
    """
    return ops.avg_pool2d(
        input,
        kernel_size,
        () if stride is None else stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
        out=out,
    )


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window. Shape (N, C, L) or (C, L); the stride is the window by default."""
    checked_pool(input, 1, "avg_pool1d")
    kernel = numbers(kernel_size, 1, "kernel_size")
    step = kernel if stride is None or stride == () else numbers(stride, 1, "stride")
    return ops.avg_pool2d(
        input.unsqueeze(-2),
        (1, *kernel),
        (1, *step),
        (0, *numbers(padding, 1, "padding")),
        ceil_mode,
        count_include_pad,
    ).squeeze(-2)


@by_policy("avg_pool3d")
def avg_pool3d(
    input,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
    *,
    out=None,
):
    """The mean of each window. Shape (N, C, D, H, W) or (C, D, H, W); the stride is the window by default.

    The sums of windows of planes, then of windows of depths, divided by how many elements they are of.
    """
    checked_pool(input, 3, "avg_pool3d")
    kernel = numbers(kernel_size, 3, "kernel_size")
    step = kernel if stride is None or stride == () else numbers(stride, 3, "stride")
    pads = numbers(padding, 3, "padding")
    for k, p in zip(kernel, pads):
        check_padding("avg_pool3d", p, k)
    if divisor_override == 0:
        raise RuntimeError("avg_pool3d(): expected divisor_override other than 0")

    def sums(x):
        """The sum of each window, over the last three dimensions."""
        lead, (d, h, w) = x.shape[:-3], x.shape[-3:]
        planes = ops.avg_pool2d(x.reshape((-1, 1, h, w)), kernel[1:], step[1:], pads[1:], ceil_mode, True, 1)
        size = planes.shape[-2:]
        columns = planes.reshape((-1, d, size[0] * size[1])).unsqueeze(1)
        columns = ops.avg_pool2d(columns, (kernel[0], 1), (step[0], 1), (pads[0], 0), ceil_mode, True, 1)
        return columns.reshape((*lead, columns.size(-2), *size))

    def mean(total, count):
        return into(out, ops.div(total, count, rounding_mode=None if input.is_floating_point() else "trunc"))

    if divisor_override is not None:
        return mean(sums(input), divisor_override)
    ones = input.new_ones(input.shape[-3:])
    if count_include_pad:
        from shunt.nn.functional.padding import pad

        # What the last windows have beyond the padding counts for nothing.
        padded = pad(ones, [p for k in reversed(pads) for p in (k, k)], value=1.0)
        inner, pads = pads, (0, 0, 0)
        count = sums(padded)
        pads = inner
        total = sums(input)
        count = count[tuple(slice(0, n) for n in total.shape[-3:])]
        return mean(total, count)
    return mean(sums(input), sums(ones))


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window, p = norm_type; where the sum of powers is negative, that of its size with its sign."""
    out = avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (ops.sign(out) * ops.relu(ops.abs(out))).mul(numbers(kernel_size, 1, "kernel_size")[0]).pow(1.0 / norm_type)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window, p = norm_type; where the sum of powers is negative, that of its size with its sign."""
    height, width = numbers(kernel_size, 2, "kernel_size")
    out = avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (ops.sign(out) * ops.relu(ops.abs(out))).mul(height * width).pow(1.0 / norm_type)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window, p = norm_type; where the sum of powers is negative, that of its size with its sign."""
    depth, height, width = numbers(kernel_size, 3, "kernel_size")
    out = avg_pool3d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (ops.sign(out) * ops.relu(ops.abs(out))).mul(depth * height * width).pow(1.0 / norm_type)
