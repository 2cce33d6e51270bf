"""Whether Shunt's results are PyTorch's: structure, dtypes, sizes, strides, requires_grad, and elements within
PyTorch's tolerances."""

import torch
from torch.testing._internal.common_device_type import toleranceOverride

import shunt

from crossing import TO_TORCH, to_torch


def leaves_of(result):
    """Tensors and values of nested tuples and lists, among them the results with names of both packages."""
    if isinstance(result, tuple | list) and not isinstance(result, torch.Size | shunt.Size):
        return [leaf for item in result for leaf in leaves_of(item)]
    return [result]


def tolerance_of(op, dtype):
    """rtol and atol: those of torch.testing, or what an entry asks for."""
    rtol, atol = torch.testing._comparison.default_tolerances(dtype)
    for info in op.decorators:
        for decorator in getattr(info, "decorators", [info]):
            if isinstance(decorator, toleranceOverride) and dtype in decorator.d:
                given = decorator.d[dtype]
                rtol, atol = max(rtol, given.rtol), max(atol, given.atol)
    return {"rtol": rtol, "atol": atol}


def difference(op, ours, theirs, elements=True, dtype=None):
    """The first place at which the results differ, "" where they don't. Without `elements` only what describes them is
    compared;
    `dtype` is what was computed in, where the results' is more exact."""
    a, b = leaves_of(ours), leaves_of(theirs)
    if len(a) != len(b):
        return f"{len(a)} results for {len(b)}"
    for i, (x, y) in enumerate(zip(a, b)):
        what = _of_tensors(op, x, y, elements, dtype) if isinstance(y, torch.Tensor) else _of_values(x, y)
        if what:
            return f"[{i}]: {what}" if len(a) > 1 else what
    return ""


def _of_values(x, y):
    if isinstance(y, torch.Size):
        return "" if tuple(x) == tuple(y) else f"{x!r} for {y!r}"
    if isinstance(y, torch.dtype):
        return "" if TO_TORCH[x] is y else f"{x!r} for {y!r}"
    if type(x) is not type(y):
        return f"{x!r} for {y!r}"
    return (
        ""
        if x == y or (x != x and y != y) or (isinstance(x, float) and abs(x - y) <= 1e-6 * abs(y))
        else f"{x!r} for {y!r}"
    )


def _strides(t):
    """Of dimensions with more than one element; the others' are arbitrary."""
    return tuple(step for step, size in zip(t.stride(), t.shape) if size > 1) if 0 not in t.shape else ()


def _of_tensors(op, x, y, elements, dtype):
    if not isinstance(x, shunt.Tensor):
        return f"a {type(x).__name__} for a tensor"
    facts = [
        (TO_TORCH[x.dtype], tuple(x.shape), _strides(x), x.requires_grad),
        (y.dtype, tuple(y.shape), _strides(y), y.requires_grad),
    ]
    for name, ours, theirs in zip(("dtype", "shape", "strides", "requires_grad"), *facts):
        if ours != theirs:
            return f"{name} {ours} for {theirs}"
    if not elements:
        return ""
    tolerance = tolerance_of(op, y.dtype)
    if dtype is not None and y.dtype.is_floating_point:
        tolerance = {key: max(value, tolerance[key]) for key, value in tolerance_of(op, dtype).items()}
    try:
        torch.testing.assert_close(to_torch(x.detach()), y.detach(), equal_nan=True, **tolerance)
    except AssertionError as e:
        return "elements: " + " ".join(str(e).split())
    return ""
