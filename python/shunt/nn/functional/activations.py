"""Activations: elementwise ones with inplace=, and softmax along a dimension."""

import math

from shunt import _C
from shunt._autocast import by_policy
from shunt.nn.functional._common import into, ops


def relu(input, inplace=False):
    """max(0, x) of each element."""
    return ops.relu_(input) if inplace else ops.relu(input)


def relu6(input, inplace=False):
    """min(max(0, x), 6) of each element."""
    return ops.hardtanh_(input, 0, 6) if inplace else ops.hardtanh(input, 0, 6)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """Each element, but at least `min_val` and at most `max_val`. ValueError where min_val > max_val."""
    if min_val > max_val:
        raise ValueError(f"hardtanh(): expected min_val of at most max_val, got {min_val} and {max_val}")
    return ops.hardtanh_(input, min_val, max_val) if inplace else ops.hardtanh(input, min_val, max_val)


def elu(input, alpha=1.0, inplace=False):
    """x where x > 0, else alpha * (exp(x) - 1)."""
    return ops.elu_(input, alpha) if inplace else ops.elu(input, alpha)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def selu(input, inplace=False):
    """elu with the alpha and the scale that keep mean 0 and variance 1 (Klambauer et al. 2017)."""
    return ops.elu_(input, _SELU_ALPHA, _SELU_SCALE) if inplace else ops.elu(input, _SELU_ALPHA, _SELU_SCALE)


def celu(input, alpha=1.0, inplace=False):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)). RuntimeError where alpha is 0."""
    if alpha == 0:
        raise RuntimeError("celu(): expected alpha other than 0, by which x is divided, got 0")
    return ops.elu_(input, alpha, 1.0, 1.0 / alpha) if inplace else ops.elu(input, alpha, 1.0, 1.0 / alpha)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x where x > 0, else negative_slope * x."""
    return ops.leaky_relu_(input, negative_slope) if inplace else ops.leaky_relu(input, negative_slope)


@by_policy("prelu")
def prelu(input, weight):
    """x where x > 0, else weight * x; `weight` has one element, or one for each channel (dimension 1)."""
    channels = input.size(1) if input.dim() > 1 else 1
    if weight.dim() > 1 and weight.numel() != 1 and weight.dim() != input.dim():
        raise RuntimeError(f"prelu(): expected weight with at most 1 dimension, got {weight.dim()}")
    if weight.numel() != 1:
        if input.dim() == 0:
            raise RuntimeError(f"prelu(): expected input with 1 dimension or more, for {weight.numel()} weights, got 0")
        if weight.dim() <= 1:
            if weight.numel() != channels:
                raise RuntimeError(
                    f"prelu(): expected one weight or {channels}, as input has channels, got {weight.numel()}"
                )
            weight = weight.reshape([-1 if d == min(1, input.dim() - 1) else 1 for d in range(input.dim())])
    else:
        weight = weight.reshape([1] * input.dim())
    if input.dtype != weight.dtype:
        raise RuntimeError(f"prelu(): expected weight of dtype {input.dtype}, as input is, got {weight.dtype}")
    return ops.where(input > 0, input, weight * input)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """x where x >= 0, else a * x: `a` is drawn from [lower, upper) for each element in training, else their mean."""
    if lower > upper:
        raise RuntimeError(f"rrelu(): expected lower of at most upper, got {lower} and {upper}")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slope = ops.empty_like(input).uniform_(lower, upper)
    result = ops.where(input >= 0, input, slope * input)
    return input.copy_(result) if inplace else result


def threshold(input, threshold, value, inplace=False):
    """x where x > threshold, else `value`."""
    return ops.threshold_(input, threshold, value) if inplace else ops.threshold(input, threshold, value)


def logsigmoid(input, *, out=None):
    """log(1 / (1 + exp(-x)))."""
    return into(out, ops.minimum(input, ops.zeros_like(input)) - ops.log1p(ops.exp(-ops.abs(input))))


def gelu(input, *, approximate="none", out=None):
    """x times the normal distribution's cumulative function of x; `approximate` may be "tanh"."""
    return ops.gelu(input, approximate=approximate, out=out)


def hardshrink(input, lambd=0.5, *, out=None):
    """x where |x| > lambd, else 0."""
    # A NaN stays one.
    return into(out, ops.where((input >= -lambd) & (input <= lambd), ops.zeros_like(input), input))


def softshrink(input, lambd=0.5, *, out=None):
    """x - lambd where x > lambd, x + lambd where x < -lambd, else 0. RuntimeError where lambd < 0."""
    if lambd < 0:
        raise RuntimeError(f"softshrink(): expected lambd of at least 0, got {lambd}")
    return into(out, ops.where(input > lambd, input - lambd, ops.where(input < -lambd, input + lambd, input * 0)))


def tanhshrink(input):
    """x - tanh(x)."""
    return input - ops.tanh(input)


def softsign(input):
    """x / (1 + |x|)."""
    return input / (ops.abs(input) + 1)


def softplus(input, beta=1.0, threshold=20.0, *, out=None):
    """log(1 + exp(beta * x)) / beta, and x where beta * x > threshold."""
    return ops.softplus(input, beta, threshold, out=out)


def sigmoid(input):
    """1 / (1 + exp(-x))."""
    return ops.sigmoid(input)


def tanh(input):
    """The hyperbolic tangent of each element."""
    return ops.tanh(input)


def hardsigmoid(input, inplace=False):
    """min(max(0, x + 3), 6) / 6."""
    if not input.is_floating_point():
        raise NotImplementedError(f"hardsigmoid(): expected a floating dtype, but got {input.dtype}")
    result = ops.hardtanh(input + 3, 0, 6) / 6
    return input.copy_(result) if inplace else result


def hardswish(input, inplace=False):
    """x * min(max(0, x + 3), 6) / 6."""
    if not input.is_floating_point():
        raise NotImplementedError(f"hardswish(): expected a floating dtype, but got {input.dtype}")
    result = input * ops.hardtanh(input + 3, 0, 6) / 6
    return input.copy_(result) if inplace else result


def silu(input, inplace=False):
    """x * sigmoid(x)."""
    return ops.silu_(input) if inplace else ops.silu(input)


def mish(input, inplace=False):
    """x * tanh(softplus(x))."""
    result = input * ops.tanh(ops.softplus(input))
    return input.copy_(result) if inplace else result


def glu(input, dim=-1):
    """a * sigmoid(b), where a and b are the halves of the input along `dim`. RuntimeError where its size there is
    odd."""
    if input.dim() == 0:
        raise RuntimeError("glu(): expected input with 1 dimension or more, got 0")
    if input.size(dim) % 2 != 0:
        raise RuntimeError(
            f"glu(): expected an even size in dimension {dim % input.dim()}, to be halved, got {input.size(dim)}"
        )
    a, b = ops.chunk(input, 2, dim)
    return a * ops.sigmoid(b)


def _softmax_dim(name, ndim):
    _C._warn(f"{name}(): choosing a dimension without being told one is deprecated; pass dim=X")
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) divided by its sum along `dim`, computed in `dtype` where that is given."""
    if dim is None:
        dim = _softmax_dim("softmax", input.dim())
    return ops.softmax(input, dim, dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax of -x."""
    if dim is None:
        dim = _softmax_dim("softmin", input.dim())
    return ops.softmax(-input, dim, dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """log(softmax(x)), computed so that nothing overflows."""
    if dim is None:
        dim = _softmax_dim("log_softmax", input.dim())
    return ops.log_softmax(input, dim, dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of the Gumbel-softmax distribution (Jang et al. 2016); with `hard` one-hot, with the gradient of the
    soft one."""
    uniform = ops.empty_like(logits).uniform_(math.ulp(0.0), 1)
    gumbels = -ops.log(-ops.log(ops.clamp(uniform, eps, 1 - 1e-7)))
    soft = ops.softmax((logits + gumbels) / tau, dim)
    if not hard:
        return soft
    index = ops.argmax(soft, dim, True)
    one_hot = ops.zeros_like(logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


def _in_place(function):
    def in_place(input, *args, **kwargs):
        return function(input, *args, inplace=True, **kwargs)

    in_place.__name__ = in_place.__qualname__ = function.__name__ + "_"
    in_place.__doc__ = f"The in-place form of {function.__name__}()."
    return in_place


relu_, elu_, selu_, celu_ = map(_in_place, (relu, elu, selu, celu))
leaky_relu_, hardtanh_, rrelu_, threshold_ = map(_in_place, (leaky_relu, hardtanh, rrelu, threshold))
