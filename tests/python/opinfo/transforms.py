"""The same samples under compile, vmap, fake tensors and functionalize: results are those of eager Shunt.

What a transform refuses (NotImplementedError, or an error that says that elements are needed) is no difference; a
result that differs is,
and an error that eager code doesn't have.
"""

import torch

import shunt
from comparing import leaves_of
from crossing import to_torch

# What is asked of the elements while there are none, or of one sample while there are many.
_REFUSALS = (
    "item()",
    "data-dependent",
    "data dependent",
    "elements",
    "randomness",
    "vmap",
    "fake",
    "meta",
    "nonzero",
    "no data",
    "Boolean value",
    "tolist",
    "numpy",
    "in place",
    "in-place",
    "inplace",
    "view",
    "alias",
)


def tensors_of(tree):
    """The tensors of arguments, each once."""
    found = []

    def walk(x):
        if isinstance(x, shunt.Tensor):
            if not any(x is y for y in found):
                found.append(x)
        elif isinstance(x, tuple | list):
            for item in x:
                walk(item)
        elif isinstance(x, dict):
            for item in x.values():
                walk(item)

    walk(tree)
    return found


def _replaced(tree, old, new):
    if isinstance(tree, shunt.Tensor):
        return next(n for o, n in zip(old, new) if o is tree)
    if isinstance(tree, tuple | list):
        return type(tree)(_replaced(x, old, new) for x in tree) if type(tree) in (tuple, list) else tree
    if isinstance(tree, dict):
        return {k: _replaced(v, old, new) for k, v in tree.items()}
    return tree


def compiled(call, tensors):
    """The third call's result: the graph's, where there is one."""
    f = shunt.compile(call)
    for _ in range(2):
        f(*tensors)
    return f(*tensors)


def batched(call, tensors):
    """The second of two samples that are one."""
    result = shunt.func.vmap(call)(*(shunt.stack([t, t]) for t in tensors))
    return _second(result)


def _second(result):
    if isinstance(result, tuple | list):
        return [_second(x) for x in result]
    return result[1] if isinstance(result, shunt.Tensor) else result


def functionalized(call, tensors):
    return shunt.func.functionalize(call)(*tensors)


def faked(call, tensors):
    """Sizes, strides and dtypes alone."""
    from shunt._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        return call(*(mode.from_tensor(t) for t in tensors))


TRANSFORMS = {"compile": compiled, "vmap": batched, "functionalize": functionalized, "fake": faked}


def _is_refusal(error):
    return isinstance(error, NotImplementedError) or any(word in str(error) for word in _REFUSALS)


def _difference(name, got, expected):
    a, b = leaves_of(got), leaves_of(expected)
    if len(a) != len(b):
        return f"{len(a)} results for {len(b)}"
    for x, y in zip(a, b):
        if not isinstance(y, shunt.Tensor):
            continue
        if not isinstance(x, shunt.Tensor) or x.dtype is not y.dtype or x.shape != y.shape:
            return f"{getattr(x, 'dtype', type(x))} {getattr(x, 'shape', '')} for {y.dtype} {y.shape}"
        if name == "fake":
            continue
        try:
            torch.testing.assert_close(
                to_torch(x.detach().contiguous()), to_torch(y.detach().contiguous()), equal_nan=True
            )
        except AssertionError as e:
            return "elements: " + " ".join(str(e).split())[:200]
    return ""


def compare_transforms(function, args, kwargs, expected, elements):
    """(transform, what differs) for each transform whose result isn't the one expected."""
    tensors = tensors_of((args, kwargs))
    if not tensors:
        return
    for name, transform in TRANSFORMS.items():

        def call(*given):
            new_args, new_kwargs = _replaced((list(args), dict(kwargs)), tensors, given)
            return function(*new_args, **new_kwargs)

        try:
            got = transform(call, [t.detach() for t in tensors])
        except Exception as e:  # of any kind
            if not _is_refusal(e):
                yield name, f"{type(e).__name__}: {e}"[:200]
            continue
        if elements or name == "fake":
            what = _difference(name, got, expected)
            if what:
                yield name, what
