"""Functions and methods that few programs call, made of others."""

import math

from shunt import _C
from shunt._autocast import by_policy
from shunt._composites._common import cast_into, check_tensors, floating, into, named_results, ops

_frexp = named_results("frexp", "mantissa", "exponent")


def _whole(name, input, other):
    """Both as tensors of integers of one dtype and shape."""
    from shunt._composites.shapes import broadcast_tensors
    from shunt._type_info import result_type

    check_tensors(name, input=input, other=other)
    dtype = result_type(input, other)
    if dtype.is_floating_point or dtype is _C.bool:
        raise NotImplementedError(f'{name}(): "{name}" not implemented for {dtype}; expected tensors of integers')
    return tuple(t.to(dtype) for t in broadcast_tensors(input, other))


def gcd(input, other, *, out=None):
    """The greatest common divisors of tensors of integers, at least 0; of 0 and 0 it is 0.

    NotImplementedError for other dtypes.
    """
    a, b = _whole("gcd", input, other)
    a, b = a.abs(), b.abs()
    while bool((b != 0).any()):
        safe = b.masked_fill(b == 0, 1)
        a, b = ops.where(b == 0, a, b), ops.where(b == 0, b, ops.fmod(a, safe))
    return cast_into(out, a)


def lcm(input, other, *, out=None):
    """The least common multiples of tensors of integers; with a 0 they are 0. NotImplementedError for other dtypes."""
    a, b = _whole("lcm", input, other)
    divisor = gcd(a, b)
    result = (ops.div(a, divisor.masked_fill(divisor == 0, 1), rounding_mode="trunc") * b).abs()
    return cast_into(out, result)


def gcd_(input, other):
    """gcd() in place."""
    return cast_into(input, gcd(input, other))


def lcm_(input, other):
    """lcm() in place."""
    return cast_into(input, lcm(input, other))


# By dtype: that of integers with as many bits, bits of the fraction, and the exponent's bias.
_LAYOUTS = {_C.float32: (_C.int32, 23, 127), _C.float64: (_C.int64, 52, 1023)}


def frexp(input, *, out=None):
    """(mantissa, exponent) with input = mantissa * 2 ** exponent, where abs(mantissa) is in [0.5, 1), or 0; the
    exponent is int32. Infinities and NaN are their own mantissas. RuntimeError for other dtypes than floats."""
    check_tensors("frexp", input=input)
    if not input.is_floating_point():
        raise RuntimeError(f"frexp(): input: expected a tensor of floating point, got {input.dtype}")
    x = input if input.dtype in _LAYOUTS else input.to(_C.float32)
    whole, fraction, bias = _LAYOUTS[x.dtype]
    with _no_grad():
        value = x.detach()
        is_small = value.abs() < 2.0 ** (1 - bias)
        raised = ops.where(is_small, value * 2.0 ** (fraction + 1), value).contiguous()
        field = (raised.view(whole) >> fraction) & (2 * bias + 1)
        exponent = field - (bias - 1) - is_small.to(whole) * (fraction + 1)
        is_plain = (value != 0) & (field != 2 * bias + 1)
        exponent = ops.where(is_plain, exponent, ops.zeros_like(exponent))
        # In two factors: one may be beyond what the dtype holds.
        half = ops.div(exponent, 2, rounding_mode="floor")
        factors = [((-part + bias) << fraction).view(x.dtype) for part in (half, exponent - half)]
    mantissa = (x * factors[0] * factors[1]).to(input.dtype)
    exponent = exponent.to(_C.int32)
    if out is not None:
        return _frexp(into(out[0], mantissa), into(out[1], exponent))
    return _frexp(mantissa, exponent)


def _no_grad():
    from shunt.autograd import no_grad

    return no_grad()


def mvlgamma(input, p, *, out=None):
    """The logarithm of the multivariate gamma function of dimension `p`, without the sign."""
    check_tensors("mvlgamma", input=input)
    if p < 1:
        raise RuntimeError(f"mvlgamma(): p: expected at least 1, got {p}")
    x = floating(input)
    steps = ops.arange(0, -p, -1, dtype=x.dtype) / 2
    return cast_into(out, ops.lgamma(x.unsqueeze(-1) + steps).sum(-1) + p * (p - 1) / 4 * math.log(math.pi))


def mvlgamma_(input, p):
    """mvlgamma() in place."""
    return cast_into(input, mvlgamma(input, p))


def angle(input, *, out=None):
    """0 for numbers of at least 0, pi for negative ones, NaN for NaN."""
    check_tensors("angle", input=input)
    x = floating(input)
    zeros = ops.zeros_like(x)
    return cast_into(out, ops.where(x != x, x, ops.where(x < 0, zeros + math.pi, zeros)))


@by_policy("cholesky_inverse")
def cholesky_inverse(L, upper=False, *, out=None):
    """The inverse of the matrix whose factor of Cholesky's is given, as linalg.cholesky() makes it.

    upper: whether the factor is upper triangular.
    """
    check_tensors("cholesky_inverse", L=L)
    if L.dim() < 2 or L.size(-1) != L.size(-2):
        raise RuntimeError(f"cholesky_inverse(): L: expected square matrices, got shape {tuple(L.shape)}")
    if not L.is_floating_point():
        raise NotImplementedError(f'cholesky_inverse(): "cholesky_inverse" not implemented for {L.dtype}')
    from shunt._composites.various import cholesky_solve
    identity = ops.eye(L.size(-1), dtype=L.dtype).expand(L.shape)
    return cast_into(out, cholesky_solve(identity, L, upper))


def frobenius_norm(input, dim, keepdim=False, *, out=None):
    """The root of the sum of squares over dimensions."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return into(out, ops.linalg_vector_norm(input, 2, dims or None, keepdim))


def get_device(input):
    """The device's number; -1 for the CPU."""
    return input.get_device()


def is_conj(input):
    """False: there are no complex tensors."""
    check_tensors("is_conj", input=input)
    return False


def is_neg(input):
    """False: negatives are computed at once."""
    check_tensors("is_neg", input=input)
    return False


def is_distributed(input):
    """False."""
    check_tensors("is_distributed", input=input)
    return False


def prelu(input, weight):
    """nn.functional.prelu()."""
    from shunt.nn.functional import prelu
    return prelu(input, weight)


def set_(input, source=None, storage_offset=None, size=None, stride=None):
    """Makes the tensor one over the memory of another tensor, or of a storage, with its shape, or that of the other
    arguments. Without any it has no elements. Returns itself.

    RuntimeError for tensors of another dtype, and for leaves that require a gradient.
    """
    if input.requires_grad and input.is_leaf and _C.is_grad_enabled():
        raise RuntimeError("set_(): a leaf Variable that requires grad is being used in an in-place operation.")
    if source is None:
        source = ops.empty((0,), dtype=input.dtype)
    elif isinstance(source, _C.TensorBase):
        if source.dtype is not input.dtype:
            raise RuntimeError(f"set_(): source: expected a tensor of {input.dtype}, got one of {source.dtype}")
        if storage_offset is not None:
            source = source.detach().as_strided(size, stride, storage_offset)
    else:
        storage = source.untyped() if hasattr(source, "untyped") else source
        if not hasattr(storage, "nbytes"):
            raise TypeError(f"set_(): argument 'source' must be Tensor or storage, not {type(source).__name__}")
        if size is None:
            size = (storage.nbytes() // input.dtype.itemsize,)
        if stride is None:
            stride = [1] * len(size)
            for d in range(len(size) - 2, -1, -1):
                stride[d] = stride[d + 1] * max(size[d + 1], 1)
        source = _C._tensor_over_storage(storage, storage_offset or 0, tuple(size), tuple(stride), input.dtype)
    input.data = source.detach()
    return input
