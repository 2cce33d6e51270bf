"""What the families of nn.functional share."""

import types
import warnings

from shunt import _C

# The dictionary's functions, wherever in the package they stand.
ops = types.SimpleNamespace(**{name: function for module in (_C._linalg, _C._nn, _C._functions)
                               for name, function in vars(module).items() if not name.startswith("__")})
Tensor = _C.TensorBase

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduction_of(reduction, size_average=None, reduce=None):
    """The number that operators take for a reduction's name; the two flags are its older spelling.

    Raises ValueError where there is no reduction of the name.
    """
    if size_average is not None or reduce is not None:
        warnings.warn("size_average and reduce args will be deprecated, please use reduction= instead", stacklevel=3)
        if reduce is False:
            return 0
        return 2 if size_average is False else 1
    number = _REDUCTIONS.get(reduction)
    if number is None:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return number


def reduced(loss, reduction):
    """The losses of all elements, their mean, or their sum."""
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


def broadcast_shapes(*shapes):
    """The shape that all broadcast to; RuntimeError where there is none."""
    result = []
    for at in range(1, max(map(len, shapes), default=0) + 1):
        sizes = {shape[-at] for shape in shapes if len(shape) >= at} - {1}
        if len(sizes) > 1:
            raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape: " + ", ".join(map(str, map(list, shapes))))
        result.append(sizes.pop() if sizes else 1)
    return tuple(reversed(result))


def into(out, result):
    """The result, written to `out` where that is given: resized where it has another shape. RuntimeError where dtypes differ."""
    if out is None:
        return result
    if out.dtype is not result.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {result.dtype}, but got {out.dtype} instead")
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def numbers(value, count, name):
    """A tuple of `count` ints of an int or a sequence."""
    if isinstance(value, tuple | list):
        if len(value) == 1:
            return tuple(value) * count
        if len(value) != count:
            raise RuntimeError(f"{name} must be one int or {count} ints, but got {tuple(value)}")
        return tuple(value)
    return (value,) * count
