"""Forms of the dictionary's functions that it doesn't have: called where none of its overloads takes the arguments.

A function here has the name's parameters as PyTorch has them for the form, and returns NotImplemented for what isn't
its own.
"""

from shunt import _C
from shunt._composites._common import broadcast_shapes, cast_into, into, ops, wrapped

Tensor = _C.TensorBase
_FORMS = {}
_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input"}


def _form(function):
    _FORMS[function.__name__] = function
    return function


def _is_list(x):
    return isinstance(x, tuple | list)


def _from_the_last(dims, ndim, name):
    """Each once, counted from the front, the last first: so that those that remain keep their places."""
    order = sorted((wrapped(d, ndim) for d in dims), reverse=True)
    for a, b in zip(order, order[1:]):
        if a == b:
            raise RuntimeError(f"{name}(): expected each dimension once, got {a} multiple times")
    return order


@_form
def squeeze(input, dim):
    if not _is_list(dim):
        return NotImplemented
    for d in _from_the_last(dim, input.dim(), "squeeze"):
        input = input.squeeze(d)
    return input.alias() if not dim else input


@_form
def squeeze_(input, dim):
    if not _is_list(dim):
        return NotImplemented
    for d in _from_the_last(dim, input.dim(), "squeeze_"):
        input.squeeze_(d)
    return input


@_form
def split(input, split_size_or_sections, dim=0):
    return input.split_with_sizes(split_size_or_sections, dim) if _is_list(split_size_or_sections) else NotImplemented


def _truth(name, one):
    def over_dims(input, dim=None, keepdim=False, *, out=None):
        if dim is not None and not _is_list(dim):
            return NotImplemented
        if out is not None and out.dtype not in (_C.bool, _C.uint8):
            raise RuntimeError(f"{name}(): expected out= of dtype bool or uint8, got {out.dtype}")
        dims = range(input.dim()) if dim is None else dim
        result = input
        for d in _from_the_last(dims, input.dim(), name):
            result = one(result, d, keepdim)
        if result is input:
            result = input != 0
        if input.dtype is _C.uint8 and result.dtype is not _C.uint8:
            result = result.to(_C.uint8)
        return result if out is None else cast_into(out, result)

    over_dims.__name__ = name
    return _form(over_dims)


_truth("all", ops.all)
_truth("any", ops.any)


def _check_decimals(input, decimals):
    if not isinstance(decimals, int):
        return False
    if decimals and not input.is_floating_point():
        raise NotImplementedError(f"round(): decimals={decimals} is not implemented for {input.dtype}")
    return True


@_form
def round(input, *, decimals, out=None):
    if not _check_decimals(input, decimals):
        return NotImplemented
    scale = 10.0 ** abs(decimals)
    if decimals == 0:
        result = ops.round(input)
    else:
        result = ops.round(input * scale) / scale if decimals > 0 else ops.round(input / scale) * scale
    return into(out, result)


@_form
def round_(input, *, decimals):
    return input.copy_(round(input, decimals=decimals)) if _check_decimals(input, decimals) else NotImplemented


def _extreme(name, of_all):
    def written(input, *, out):
        return cast_into(out, of_all(input))

    written.__name__ = name
    return _form(written)


_extreme("max", ops.max)
_extreme("min", ops.min)


@_form
def nonzero(input, *, as_tuple):
    if not as_tuple:
        return ops.nonzero(input)
    return ops.nonzero(input.reshape((1,)) if input.dim() == 0 else input).unbind(1)


@_form
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    if p == "nuc":
        raise NotImplementedError('norm(): p="nuc" needs singular values, which are not implemented')
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm(): expected p to be a number, 'fro' or 'nuc', got {p!r}")
    if p == "fro" or p is None:
        p = 2
    if not isinstance(p, int | float) or not isinstance(dim, int | tuple | list | type(None)):
        return NotImplemented
    dims = tuple(range(input.dim())) if dim is None else (dim,) if isinstance(dim, int) else dim
    if dtype is not None:
        result = ops.norm(input, p, dims, keepdim, dtype=dtype)
    else:
        result = ops.norm(input, p, dims, keepdim)
    return into(out, result)


@_form
def normal(mean, std=1.0, *, generator=None, out=None):
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        return NotImplemented
    if isinstance(std, Tensor):
        if not std.is_floating_point():
            raise RuntimeError(f"normal(): expected std of a floating-point dtype, got {std.dtype}")
        if std.numel() and not bool((std >= 0).all()):
            raise RuntimeError("normal(): expected std of at least 0, got a negative one")
    elif std < 0:
        raise RuntimeError(f"normal(): expected std of at least 0, got {std}")
    if out is not None and not out.is_floating_point():
        raise NotImplementedError(f"normal(): expected out= of a floating-point dtype, got {out.dtype}")
    shape = broadcast_shapes(*(t.shape for t in (mean, std) if isinstance(t, Tensor)))
    like = mean if isinstance(mean, Tensor) else std
    draws = like.detach().new_empty(shape).normal_(0, 1, generator=generator)
    with _no_grad():
        result = (draws * std + mean).to(like.dtype)
    return cast_into(out, result)


def _moments(name, with_mean):
    """var and the like with a correction that is no int: of the variance with correction 0."""

    def moment(input, dim=None, *, correction, keepdim=False, out=None):
        if not isinstance(correction, float) or (out is not None and with_mean):
            return NotImplemented
        variance = ops.var(input, dim, correction=0, keepdim=keepdim)
        dims = range(input.dim()) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
        count = 1
        for d in dims:
            count *= input.size(d) if input.dim() else 1
        freedom = max(count - correction, 0.0)
        variance = variance * count / ops.scalar_tensor(freedom, dtype=variance.dtype, device=variance.device)
        result = ops.sqrt(variance) if name.startswith("std") else variance
        return (result, input.mean(dim, keepdim)) if with_mean else cast_into(out, result)

    moment.__name__ = name
    return _form(moment)


_moments("var", False)
_moments("std", False)
_moments("var_mean", True)
_moments("std_mean", True)


def _no_grad():
    from shunt.autograd import no_grad

    return no_grad()


@_form
def einsum(equation, *operands):
    if not isinstance(equation, str) or not operands or not all(isinstance(t, Tensor) for t in operands):
        return NotImplemented
    return ops.einsum(equation, list(operands))


@_form
def copy_(input, src, non_blocking=False):
    return input.fill_(src) if isinstance(src, bool | int | float) else NotImplemented


_NUMBERS_FIRST = set()


def _number_first(name, operator, options=(), both=True):
    """name(2, tensor): the operator for tensors, for which a number stands for a tensor without dimensions. With `both`
    the second may be a number, too. `options` are the keyword arguments that it has besides."""
    packet = None

    def form(input, other, *, out=None, **given):
        nonlocal packet
        if not isinstance(input, int | float) or not isinstance(other, (Tensor, int, float) if both else Tensor):
            return NotImplemented
        if any(option not in options for option in given) or (out is not None and not both):
            return NotImplemented
        if packet is None:
            packet = _C._get_packet(f"aten::{operator}")
        if out is not None:
            given["out"] = out
        if "rounding_mode" in given:
            overload = "Tensor_mode" if out is None else "out_mode"
        elif out is not None:
            overload = "out"
        else:
            overload = "default" if operator == "floor_divide" else "Tensor"
        return getattr(packet, overload)(input, other, **given)

    form.__name__ = name
    _NUMBERS_FIRST.add(form)
    return _form(form)


_number_first("add", "add", ("alpha",))
for _name in ("sub", "subtract"):
    _number_first(_name, "sub", ("alpha",))
for _name in ("div", "divide"):
    _number_first(_name, "div", ("rounding_mode",))
for _name in ("mul", "multiply"):
    _number_first(_name, "mul")
for _name in ("true_divide", "floor_divide"):
    _number_first(_name, _name)
_number_first("remainder", "remainder", both=False)


def _caller(function):
    """function(*args, **kwargs) of a tuple and a dict; NotImplemented for arguments that it doesn't take."""
    signature = None

    def call(args, kwargs):
        nonlocal signature
        if not kwargs and len(args) == 2 and function in _NUMBERS_FIRST:
            return function(*args)  # what most calls are
        import inspect  # takes milliseconds, and few programs come here

        if signature is None:
            signature = inspect.signature(function)
        kwargs = {
            _NUMPY_NAMES.get(name, name) if name not in signature.parameters else name: value
            for name, value in kwargs.items()
        }
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return NotImplemented
        first = bound.args[0] if bound.args else None
        if function not in (normal, einsum) and function not in _NUMBERS_FIRST and not isinstance(first, Tensor):
            return NotImplemented
        if not isinstance(bound.arguments.get("out"), Tensor | type(None)):
            return NotImplemented
        return function(*bound.args, **bound.kwargs)

    return call


_C._set_more_forms({name: _caller(function) for name, function in _FORMS.items()})
