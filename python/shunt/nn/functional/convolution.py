"""Linear maps and convolutions."""

from shunt._autocast import by_policy
from shunt.nn.functional._common import numbers, ops


# input @ weight.T + bias: the operator itself, as a function around it would cost half as much again.
linear = ops.linear
linear.__module__ = "shunt.nn.functional"  # for pickle


@by_policy("bilinear")
def bilinear(input1, input2, weight, bias=None):
    """x1 @ weight[k] @ x2 + bias[k] for each k. Shapes: (..., in1), (..., in2), (out, in1, in2), (out) to (...,
    out)."""
    if input1.dim() != input2.dim() or input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): expected inputs with equal sizes but for the last one, got {tuple(input1.shape)} and "
            f"{tuple(input2.shape)}"
        )
    if weight.size(1) != input1.size(-1) or weight.size(2) != input2.size(-1):
        raise RuntimeError(
            f"bilinear(): weight of size {weight.shape} doesn't fit inputs of {input1.size(-1)} and "
            f"{input2.size(-1)} features"
        )
    result = ops.einsum("...i,kij,...j->...k", [input1, weight, input2])
    return result if bias is None else result + bias


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The cross-correlation of signals with kernels. Shapes: (N, C, L) or (C, L), weight (out, C / groups, K), bias
    (out).

    `padding` is how many zeros are put at both ends, "valid" for none, or "same" for as many as keep the length
    (stride 1).
    """
    return ops.conv1d(input, weight, bias, stride, padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The cross-correlation of images with kernels. Shapes: (N, C, H, W) or (C, H, W), weight (out, C / groups, KH,
    KW), bias (out).

    `padding` is how many zeros are put at all ends, "valid" for none, or "same" for as many as keep the sizes (stride
    1).
    """
    return ops.conv2d(input, weight, bias, stride, padding, dilation, groups)


def _batched(input, dims, name):
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): expected input with {dims + 1} or, for a batch, {dims + 2} dimensions, got {list(input.shape)}"
        )
    return (input, True) if input.dim() == dims + 2 else (input.unsqueeze(0), False)


@by_policy("conv3d")
def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The cross-correlation of volumes with kernels. Shapes: (N, C, D, H, W) or (C, D, H, W), weight (out, C / groups,
    KD, KH, KW).

    A sum of convolutions of images, one for each plane of the kernel.
    """
    input, batched = _batched(input, 3, "conv3d")
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(f"conv3d(): expected bias of dtype {input.dtype}, as input is, got {bias.dtype}")
    strides, dilations = numbers(stride, 3, "stride"), numbers(dilation, 3, "dilation")
    if isinstance(padding, str):
        if padding not in ("valid", "same"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if padding == "same" and strides != (1, 1, 1):
            raise RuntimeError(f"conv3d(): padding='same' expects a stride of 1, got {strides}")
        total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilations, weight.shape[2:])]
    else:
        total = [2 * p for p in numbers(padding, 3, "padding")]
        if min(total) < 0:
            raise RuntimeError(f"conv3d(): expected padding of at least 0, got {padding}")
    from shunt.nn.functional.padding import pad

    if any(total):
        input = pad(input, [side for t in reversed(total) for side in (t // 2, t - t // 2)])
    (n, _, depth), planes = input.shape[:3], weight.size(2)
    length = (depth - dilations[0] * (planes - 1) - 1) // strides[0] + 1
    if length <= 0:
        raise RuntimeError(
            f"conv3d(): expected a kernel no larger than the padded input, got kernel {tuple(weight.shape[2:])} for "
            f"input {tuple(input.shape[2:])}"
        )
    result = None
    for k in range(planes):
        start = k * dilations[0]
        chosen = ops.slice(input, 2, start, start + strides[0] * (length - 1) + 1, strides[0])
        images = chosen.transpose(1, 2).reshape((n * length, chosen.size(1), *chosen.shape[3:]))
        part = ops.conv2d(images, weight.select(2, k), None, strides[1:], 0, dilations[1:], groups)
        result = part if result is None else result + part
    result = result.reshape((n, length, *result.shape[1:])).transpose(1, 2)
    if bias is not None:
        result = result + bias.reshape((-1, 1, 1, 1))
    result = result.contiguous()
    return result if batched else result.squeeze(0)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """What the backward of conv1d gives its input, as an operator. Shapes: (N, C, L) or (C, L), weight (C, out /
    groups, K)."""
    return ops.conv_transpose1d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """What the backward of conv2d gives its input, as an operator. Shapes: (N, C, H, W) or (C, H, W), weight (C,
    out / groups, KH,
    KW)."""
    return ops.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)


@by_policy("conv_transpose3d")
def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """What the backward of conv3d gives its input, as an operator. Shapes: (N, C, D, H, W) or (C, D, H, W), weight
    (C, out / groups, KD, KH, KW).

    Each plane of the kernel adds the transposed convolutions of images to the depths that it reaches.
    """
    input, batched = _batched(input, 3, "conv_transpose3d")
    strides, pads = numbers(stride, 3, "stride"), numbers(padding, 3, "padding")
    extra, dilations = numbers(output_padding, 3, "output_padding"), numbers(dilation, 3, "dilation")
    for e, s, d in zip(extra, strides, dilations):
        if e >= s and e >= d:
            raise RuntimeError(
                f"conv_transpose3d(): expected output_padding below the stride, {strides}, or the dilation, "
                f"{dilations}, got {extra}"
            )
    (n, channels, depth), planes = input.shape[:3], weight.size(2)
    images = input.transpose(1, 2).reshape((n * depth, channels, *input.shape[3:]))
    canvas = None
    for k in range(planes):
        part = conv_transpose2d(
            images, weight.select(2, k), None, strides[1:], pads[1:], extra[1:], groups, dilations[1:]
        )
        part = part.reshape((n, depth, *part.shape[1:])).transpose(1, 2)
        if canvas is None:
            length = (depth - 1) * strides[0] + dilations[0] * (planes - 1) + 1 + extra[0]
            canvas = part.new_zeros((n, part.size(1), length, *part.shape[3:]))
        first = k * dilations[0]
        places = (slice(None), slice(None), slice(first, first + (depth - 1) * strides[0] + 1, strides[0]))
        canvas[places] = canvas[places] + part
    # What was padded is cut off; output_padding adds depths at the end only.
    result = canvas[:, :, pads[0] : canvas.size(2) - pads[0]]
    if bias is not None:
        result = result + bias.reshape((-1, 1, 1, 1))
    result = result.contiguous()
    return result if batched else result.squeeze(0)
