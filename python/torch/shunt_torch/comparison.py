"""What a replay on copies gave, against what the function gave."""

from __future__ import annotations

from typing import Any

import torch

from . import _C
from .registered import Rebuilt, definition_of


def made_of(template: Any, result: Any, inputs: list) -> list:
    """The tensors of a result that its template (results.py) says a replay makes, in their order. Raises ValueError for
    another structure."""
    out: dict[int, torch.Tensor] = {}

    def collect(t: Any, value: Any) -> None:
        if type(t) is int:
            if not isinstance(value, torch.Tensor):
                raise ValueError
            if t >= 0:
                out[t] = value
            elif value is not inputs[-1 - t]:
                raise ValueError
        elif type(t) is Rebuilt:
            if type(value) is not t.kind:
                raise ValueError
            children, context = definition_of(t.kind).flatten_fn(value)
            if len(children) != len(t.children):
                raise ValueError
            collect(t.context, context)
            for a, b in zip(t.children, children):
                collect(a, b)
        elif type(t) is dict:
            if type(value) is not dict or list(value) != list(t):
                raise ValueError
            for k in t:
                collect(t[k], value[k])
        elif type(t) is tuple and len(t) == 2 and isinstance(t[0], str):
            if not _C.same_value(t[1], value):
                raise ValueError
        else:
            if type(value) is not type(t) or len(value) != len(t):
                raise ValueError
            for a, b in zip(t, value):
                collect(a, b)

    collect(template, result)
    return [out[i] for i in range(len(out))]


def difference(replayed: tuple, made: list, copies: list, inputs: list) -> str:
    """The first thing that differs, for people; empty where nothing does. `replayed`: (outputs, grads by input) of the
    replay, which wrote `copies`; `made`: the function's; `inputs`: (path, tensor), as the function left them."""
    outputs, grads = replayed
    for i, (ours, theirs) in enumerate(zip(outputs, made)):
        if not _C.same_bits(ours, theirs.detach()):
            return f"result {i}: {first_difference(ours, theirs)}"
    for i, (path, tensor) in enumerate(inputs):
        if not _C.same_storage_bytes(copies[i], tensor):
            return f"memory of {path}: {first_difference(copies[i], tensor)}"
        if i in grads:
            ours, theirs = grads[i], tensor.grad
            if (ours is None) != (theirs is None) or (ours is not None and not _C.same_bits(ours, theirs)):
                return f"grad of {path}: {first_difference(ours, theirs)}"
    return ""


def first_difference(ours: Any, theirs: Any) -> str:
    def described(t: Any) -> str:
        return "None" if t is None else f"{str(t.dtype)[6:]}{list(t.shape)} with strides {list(t.stride())}"

    if described(ours) != described(theirs):
        return f"{described(ours)} for {described(theirs)}"
    with torch.no_grad():
        x, y = ours.detach().reshape(-1), theirs.detach().reshape(-1)
        same = x == y
        if x.dtype.is_floating_point or x.dtype.is_complex:
            same = same | (x.isnan() & y.isnan())
        wrong = (~same).nonzero().reshape(-1)
        if wrong.numel() == 0:
            return "the bits of a zero or nan, or elements that the tensor doesn't show"
        at = int(wrong[0])
        return f"{wrong.numel()} of {x.numel()} elements, the first {x[at].item()!r} for {y[at].item()!r}"
