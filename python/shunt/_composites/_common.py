"""What the functions that are made of operators share."""

import collections
import types

from shunt import _C

# The dictionary's functions, wherever in the package they stand.
ops = types.SimpleNamespace(
    **{
        name: function
        for module in (_C._linalg, _C._nn, _C._functions)
        for name, function in vars(module).items()
        if not name.startswith("__")
    }
)

# Functions that are methods of Tensor, too, by name; _tensor_methods() of the package adds them.
METHODS = {}


def method(function):
    """Makes a function, whose first argument is a tensor, a method as well."""
    METHODS[function.__name__] = function
    return function


def _repr_of_results(self):
    parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
    return f"{_C._shown_package()}.return_types.{type(self).__name__}(\n{parts})"


def named_results(name, *fields):
    """The class of several results with names: shunt.return_types.<name>."""
    result = collections.namedtuple(name, fields)
    result.__module__, result.__repr__ = "shunt.return_types", _repr_of_results
    return result


def into(out, result):
    """The result, written to `out` where that is given: resized where it has another shape. RuntimeError where dtypes
    differ."""
    if out is None:
        return result
    if out.dtype is not result.dtype:
        raise RuntimeError(f"out= has dtype {out.dtype}, expected {result.dtype}, the result's")
    return _written(out, result)


def cast_into(out, result):
    """The same for functions whose out= may have any dtype that the result can be cast to."""
    if out is None:
        return result
    if (result.is_floating_point() and not out.is_floating_point()) or (
        out.dtype is _C.bool and result.dtype is not _C.bool
    ):
        raise RuntimeError(f"out= has dtype {out.dtype}, to which a result of {result.dtype} isn't cast")
    return _written(out, result)


def check_tensors(name, **arguments):
    """TypeError for an argument that is no tensor."""
    for key, value in arguments.items():
        if not isinstance(value, _C.TensorBase):
            raise TypeError(f"{name}(): argument '{key}' must be Tensor, not {type(value).__name__}")


def _written(out, result):
    if any(step == 0 and n > 1 for step, n in zip(out.stride(), out.shape)) and out.shape == result.shape:
        raise RuntimeError(
            f"out= of shape {list(out.shape)} has elements that share one place in memory; write to a clone() of it"
        )
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes have together, a Size; an int stands for a shape of one size.

    Raises RuntimeError where they can't be broadcast.
    """
    shapes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    result = []
    for at in range(1, max(map(len, shapes), default=0) + 1):
        sizes = {shape[-at] for shape in shapes if len(shape) >= at} - {1}
        if any(n < 0 for n in sizes):
            raise RuntimeError(f"expected sizes of at least 0, got {min(sizes)}")
        if len(sizes) > 1:
            raise RuntimeError(
                "Shape mismatch: objects cannot be broadcast to a single shape: "
                + ", ".join(map(str, map(list, shapes)))
            )
        result.append(sizes.pop() if sizes else 1)
    return _C.Size(reversed(result))


def wrapped(dim, ndim, name="dim"):
    """The dimension counted from the front. IndexError where it is out of range."""
    n = max(ndim, 1)
    if not -n <= dim < n:
        raise IndexError(f"{name} is out of range: expected {-n} to {n - 1}, got {dim}")
    return dim % n


def is_floating(x):
    return isinstance(x, float) or (isinstance(x, _C.TensorBase) and x.is_floating_point())


def floating(x):
    """The tensor in its dtype, or of integers in the default one."""
    return x if x.is_floating_point() else x.to(ops.scalar_tensor(0.0).dtype)


def indices(values, like):
    """A tensor of int64 on the device of another."""
    return _C.tensor(values, dtype=_C.int64, device=like.device)
