"""Elementwise functions that are made of others."""

import math

from shunt import _C
from shunt._composites._common import broadcast_shapes, cast_into, check_tensors, floating, into, method, ops

Tensor = _C.TensorBase


@method
def positive(input):
    """The tensor itself. RuntimeError for bool."""
    if input.dtype is _C.bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def _itself(name, doc):
    def function(input):
        return input

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return method(function)


conj = _itself("conj", "The complex conjugate: the tensor itself, as it is real.")
resolve_conj = _itself("resolve_conj", "The tensor itself: conjugates are computed at once.")
resolve_neg = _itself("resolve_neg", "The tensor itself: negatives are computed at once.")


def real(input):
    """The real part: the tensor itself. Of Tensor it is a property."""
    check_tensors("real", input=input)
    return input


def imag(input):
    """Refused (RuntimeError): real tensors have no imaginary part. Of Tensor it is a property."""
    check_tensors("imag", input=input)
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


@method
def conj_physical(input, *, out=None):
    """The complex conjugate: the tensor itself, as it is real."""
    return input if out is None else into(out, input)


@method
def sgn(input, *, out=None):
    """The sign of each element: -1, 0 or 1."""
    return ops.sign(input, out=out)


@method
def signbit(input, *, out=None):
    """Whether each element's sign is negative, that of -0.0, too."""
    if not input.is_floating_point():
        return into(out, input < 0 if input.dtype is not _C.bool else ops.zeros_like(input))
    return into(out, (input < 0) | ((input == 0) & (ops.reciprocal(input) < 0)))


@method
def deg2rad(input, *, out=None):
    """Degrees as radians."""
    return cast_into(out, input * (math.pi / 180))


@method
def rad2deg(input, *, out=None):
    """Radians as degrees."""
    return cast_into(out, input * (180 / math.pi))


@method
def frac(input, *, out=None):
    """What follows the point, with the sign: x - trunc(x)."""
    if not input.is_floating_point():
        raise NotImplementedError(f'"frac" not implemented for {input.dtype}')
    return into(out, input - ops.trunc(input))


@method
def exp2(input, *, out=None):
    """2 to the power of each element."""
    return cast_into(out, ops.pow(2.0, floating(input)))


@method
def log2(input, *, out=None):
    """The logarithm to base 2 of each element."""
    return cast_into(out, ops.log(input) * (1 / math.log(2.0)))


@method
def log10(input, *, out=None):
    """The logarithm to base 10 of each element."""
    return cast_into(out, ops.log(input) * (1 / math.log(10.0)))


@method
def tan(input, *, out=None):
    """The tangent of each element, in radians."""
    return cast_into(out, ops.sin(input) / ops.cos(input))


@method
def sinh(input, *, out=None):
    """The hyperbolic sine of each element."""
    return cast_into(out, (ops.expm1(input) - ops.expm1(-floating(input))) / 2)


@method
def cosh(input, *, out=None):
    """The hyperbolic cosine of each element."""
    return cast_into(out, (ops.exp(input) + ops.exp(-floating(input))) / 2)


@method
def asinh(input, *, out=None):
    """The inverse hyperbolic sine of each element."""
    x = floating(input)
    squared = x * x
    return cast_into(out, ops.sign(x) * ops.log1p(ops.abs(x) + squared / (1 + ops.sqrt(1 + squared))))


@method
def acosh(input, *, out=None):
    """The inverse hyperbolic cosine of each element; NaN below 1."""
    x = floating(input)
    return cast_into(out, ops.log(x + ops.sqrt(x - 1) * ops.sqrt(x + 1)))


@method
def atanh(input, *, out=None):
    """The inverse hyperbolic tangent of each element; NaN outside [-1, 1]."""
    x = floating(input)
    return cast_into(out, (ops.log1p(x) - ops.log1p(-x)) / 2)


@method
def sinc(input, *, out=None):
    """sin(pi * x) / (pi * x), and 1 at 0."""
    x = floating(input) * math.pi
    zero = x == 0
    return cast_into(out, ops.where(zero, ops.ones_like(x), ops.sin(x) / ops.masked_fill(x, zero, 1.0)))


@method
def logit(input, eps=None, *, out=None):
    """log(x / (1 - x)), of x limited to [eps, 1 - eps] where that is given."""
    x = floating(input)
    if eps is not None:
        x = ops.clamp(x, eps, 1 - eps)
    return cast_into(out, ops.log(x / (1 - x)))


@method
def nan_to_num(input, nan=0.0, posinf=None, neginf=None, *, out=None):
    """NaN, infinity and -infinity as numbers: by default 0, the dtype's largest and its smallest."""
    if not input.is_floating_point():
        return into(out, input.clone())
    from shunt import finfo

    limits = finfo(input.dtype)
    result = ops.where(input.isnan(), _number(0.0 if nan is None else nan, input), input)
    result = ops.where(input == math.inf, _number(limits.max if posinf is None else posinf, input), result)
    return into(out, ops.where(input == -math.inf, _number(limits.min if neginf is None else neginf, input), result))


def _number(value, like):
    return ops.scalar_tensor(value, dtype=like.dtype)


@method
def isposinf(input, *, out=None):
    """Whether each element is infinity."""
    return into(out, ops.eq(input, math.inf) if input.is_floating_point() else ops.zeros_like(input, dtype=_C.bool))


@method
def isneginf(input, *, out=None):
    """Whether each element is -infinity."""
    return into(out, ops.eq(input, -math.inf) if input.is_floating_point() else ops.zeros_like(input, dtype=_C.bool))


@method
def isreal(input):
    """Whether each element is a real number: always."""
    return ops.ones_like(input, dtype=_C.bool)


def _common(a, b, name=""):
    """Both in the dtype that they promote to. `name`: of a function that takes no numbers."""
    if name:
        check_tensors(name, input=a, other=b)
    from shunt import result_type

    dtype = result_type(a, b)
    return a.to(dtype), b.to(dtype)


def _without_nan(name, choose, input, other, out):
    """choose(input, other), and where one of them is NaN the other."""
    a, b = _common(input, other, name)
    result = choose(a, b)
    if a.is_floating_point():
        result = ops.where(a.isnan(), b, ops.where(b.isnan(), a, result))
    return cast_into(out, result)


@method
def fmax(input, other, *, out=None):
    """The larger element of both; of a NaN and a number the number."""
    return _without_nan("fmax", ops.maximum, input, other, out)


@method
def fmin(input, other, *, out=None):
    """The smaller element of both; of a NaN and a number the number."""
    return _without_nan("fmin", ops.minimum, input, other, out)


@method
def heaviside(input, values, *, out=None):
    """0 where the input is negative, 1 where it is positive, and `values` where it is 0. RuntimeError for different
    dtypes."""
    check_tensors("heaviside", input=input, values=values)
    if input.dtype is not values.dtype:
        raise RuntimeError(
            f"heaviside is not yet implemented for tensors with different dtypes. Got {input.dtype} and {values.dtype}"
        )
    if out is not None and out.dtype is not input.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    result = ops.where(input == 0, values, (input > 0).to(input.dtype))
    return into(out, result)


@method
def ldexp(input, other, *, out=None):
    """input * 2^other."""
    return cast_into(
        out, ops.mul(input, ops.pow(2.0, floating(other) if not isinstance(other, (int, float)) else other))
    )


@method
def logaddexp(input, other, *, out=None):
    """log(exp(input) + exp(other)), computed so that nothing overflows."""
    check_tensors("logaddexp", input=input, other=other)
    if not input.is_floating_point() or not other.is_floating_point():
        raise NotImplementedError(f'"logaddexp" not implemented for {input.dtype}')
    a, b = _common(input, other)
    larger = ops.maximum(a, b)
    result = larger + ops.log1p(ops.exp(-ops.abs(a - b)))
    return cast_into(out, ops.where((a == b) & a.isinf(), a, result))


@method
def logaddexp2(input, other, *, out=None):
    """log2(2^input + 2^other), computed so that nothing overflows."""
    check_tensors("logaddexp2", input=input, other=other)
    if not input.is_floating_point() or not other.is_floating_point():
        raise NotImplementedError(f'"logaddexp2" not implemented for {input.dtype}')
    a, b = _common(input, other)
    larger = ops.maximum(a, b)
    result = larger + ops.log1p(ops.pow(2.0, -ops.abs(a - b))) * (1 / math.log(2.0))
    return cast_into(out, ops.where((a == b) & a.isinf(), a, result))


@method
def xlogy(input, other, *, out=None):
    """input * log(other), and 0 where the input is 0 unless `other` is NaN; one of the two may be a number."""
    return cast_into(out, _xlogy("xlogy", input, other, ops.log))


def _xlogy(name, input, other, log):
    if not isinstance(other, Tensor):
        check_tensors(name, input=input)
    x, y = (v if isinstance(v, Tensor) else ops.scalar_tensor(v, dtype=_dtype_of(input, other)) for v in (input, other))
    x, y = _common(floating(x), floating(y))
    zero = (x == 0) & y.isnan().logical_not()
    return (
        x * log(ops.where(zero, ops.ones_like(y), y))
        if log is ops.log
        else x * log(ops.where(zero, ops.zeros_like(y), y))
    )


def _dtype_of(*values):
    dtype = next(v.dtype for v in values if isinstance(v, Tensor))
    return dtype if dtype.is_floating_point else None


@method
def hypot(input, other, *, out=None):
    """sqrt(input^2 + other^2), computed so that nothing overflows."""
    check_tensors("hypot", input=input, other=other)
    a, b = _common(ops.abs(input), ops.abs(other))
    large, small = ops.maximum(a, b), ops.minimum(a, b)
    zero = large == 0
    ratio = small / ops.masked_fill(large, zero, 1.0)
    result = large * ops.sqrt(1 + ratio * ratio)
    return cast_into(out, ops.where(a.isinf() | b.isinf(), _number(math.inf, a), result))


@method
def copysign(input, other, *, out=None):
    """The input with the sign of `other`, that of -0.0, too."""
    check_tensors("copysign", input=input)
    if not isinstance(other, Tensor):
        size = ops.abs(floating(input))
        return cast_into(out, -size if math.copysign(1.0, other) < 0 else size)
    size = ops.abs(floating(input))
    negative = signbit(other)
    shape = broadcast_shapes(size.shape, negative.shape)
    from shunt import result_type

    dtype = result_type(size, floating(other))
    size = size.to(dtype).expand(shape)
    return cast_into(out, ops.where(negative, -size, size))


@method
def float_power(input, exponent, *, out=None):
    """input^exponent in float64; one of the two may be a number."""
    base, power = (v.to(_C.float64) if isinstance(v, Tensor) else float(v) for v in (input, exponent))
    if out is not None and out.dtype is not _C.float64:
        raise RuntimeError(
            f"the output given to float_power has dtype {out.dtype} but the operation's result requires dtype Double"
        )
    return into(out, ops.pow(base, power))


def _in_place(function):
    def in_place(input, *args, **kwargs):
        result = function(input, *args, **kwargs)
        if result.shape != input.shape:
            raise RuntimeError(
                f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(result.shape)}"
            )
        if result.is_floating_point() and not input.is_floating_point():
            raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {input.dtype}")
        return input.copy_(result)

    in_place.__name__ = in_place.__qualname__ = function.__name__ + "_"
    in_place.__doc__ = f"The in-place form of {function.__name__}(): writes the result to the tensor, and returns it."
    return method(in_place)


for _function in (
    sgn,
    deg2rad,
    rad2deg,
    frac,
    exp2,
    log2,
    log10,
    tan,
    sinh,
    cosh,
    asinh,
    acosh,
    atanh,
    sinc,
    logit,
    nan_to_num,
    heaviside,
    ldexp,
    xlogy,
    hypot,
    copysign,
    conj_physical,
):
    globals()[_function.__name__ + "_"] = _in_place(_function)


@method
def float_power_(input, exponent):
    """The in-place form of float_power(), of a tensor of float64."""
    if input.dtype is not _C.float64:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {input.dtype} but the operation's result requires dtype Double"
        )
    return input.copy_(float_power(input, exponent))
