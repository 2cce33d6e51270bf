"""What the families of nn.functional share."""

from shunt import _C
from shunt._composites._common import broadcast_shapes, into, ops  # noqa: F401  for the families

Tensor = _C.TensorBase

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduction_of(reduction, size_average=None, reduce=None):
    """The number that operators take for a reduction's name; the two flags are its older spelling.

    Raises ValueError where there is no reduction of the name.
    """
    if size_average is not None or reduce is not None:
        _C._warn(
            "size_average and reduce are older spellings; pass reduction=, 'none', 'mean' or 'sum', in their place",
        )
        if reduce is False:
            return 0
        return 2 if size_average is False else 1
    number = _REDUCTIONS.get(reduction)
    if number is None:
        raise ValueError(f"expected reduction to be 'none', 'mean' or 'sum', got {reduction!r}")
    return number


def reduced(loss, reduction):
    """The losses of all elements, their mean, or their sum."""
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


def numbers(value, count, name):
    """A tuple of `count` ints of an int or a sequence."""
    if isinstance(value, tuple | list):
        if len(value) == 1:
            return tuple(value) * count
        if len(value) != count:
            raise RuntimeError(f"expected {name} to be one int or {count} ints, got {tuple(value)}")
        return tuple(value)
    return (value,) * count


def check_padding(name, pad, kernel):
    """RuntimeError where a pool's windows could lie wholly in the padding."""
    if not 0 <= pad <= kernel // 2:
        raise RuntimeError(f"{name}(): expected padding from 0 to {kernel // 2}, half of the kernel's size, got {pad}")


def checked_pool(input, dims, name):
    """RuntimeError where a pool gets no images of these dimensions, with or without a batch."""
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): expected input with {dims + 1} or {dims + 2} dimensions, got shape {list(input.shape)}"
        )
