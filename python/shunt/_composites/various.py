"""Functions that programs use now and then: fills, gradients by differences, layouts, and forms of others."""

from builtins import range as _range

from shunt import _C
from shunt._autocast import by_policy
from shunt._composites._common import cast_into, into, method, ops, wrapped


@method
def fill_diagonal_(input, fill_value, wrap=False):
    """Writes a number to the elements whose indices are all equal. With `wrap` the diagonal of a tall matrix begins
    again below."""
    if input.dim() < 2:
        raise RuntimeError(f"fill_diagonal_(): expected input with 2 dimensions or more, got {input.dim()}")
    if input.dim() > 2 and any(n != input.size(0) for n in input.shape):
        raise RuntimeError(f"fill_diagonal_(): expected equal sizes of 3 dimensions or more, got {tuple(input.shape)}")
    if input.dim() == 2 and wrap and input.size(0) > input.size(1) > 0:
        place = ops.arange(0, input.numel(), input.size(1) + 1, device=input.device)
        input[place // input.size(1), place % input.size(1)] = fill_value
        return input
    if input.dim() == 2:
        input.diagonal().fill_(fill_value)
        return input
    place = ops.arange(min(input.shape), device=input.device)
    input[(place,) * input.dim()] = fill_value
    return input


def _with_values(input, values):
    with _no_grad():
        return input.copy_(_C.tensor(values, dtype=input.dtype, device=input.device).reshape(input.shape))


def _no_grad():
    from shunt.autograd import no_grad

    return no_grad()


def _check_callable_use(name, input):
    if input.requires_grad:
        raise RuntimeError(
            f"{name}(): expected a tensor that autograd doesn't record, got one with requires_grad=True; call it on "
            "its detach()"
        )
    if not input.is_cpu:
        raise TypeError(f"{name}(): expected a tensor on the CPU, got one on {input.device}")


@method
def apply_(input, callable):
    """Replaces each element by callable(element), in Python."""
    _check_callable_use("apply_", input)
    return _with_values(input, [callable(x) for x in input.reshape((-1,)).tolist()])


@method
def map_(input, tensor, callable):
    """Replaces each element by callable(element, the other tensor's element), in Python."""
    _check_callable_use("map_", input)
    other = tensor.expand(input.shape).reshape((-1,)).tolist()
    return _with_values(input, [callable(x, y) for x, y in zip(input.reshape((-1,)).tolist(), other)])


@method
def is_nonzero(input):
    """Whether a tensor of one element isn't 0. RuntimeError for others."""
    return bool(input)


@method
def index_reduce(input, dim, index, source, reduce, *, include_self=True, out=None):
    """The tensor with slices of `source` reduced into those that `index` names: "prod", "mean", "amax" or "amin".

    Args:
        include_self: whether the tensor's elements count, too.
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): reduce is 'prod', 'mean', 'amax' or 'amin', got {reduce!r}")
    d = wrapped(dim, input.dim())
    places = (
        index.reshape((-1,) + (1,) * (source.dim() - 1 - d)).expand(source.shape) if source.dim() else index.reshape(())
    )
    return into(out, input.scatter_reduce(d, places, source, reduce, include_self=include_self))


@method
def index_reduce_(input, dim, index, source, reduce, *, include_self=True):
    """index_reduce(), in place."""
    return input.copy_(index_reduce(input, dim, index, source, reduce, include_self=include_self))


def empty_permuted(
    size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """A tensor with elements of any value, whose dimensions lie in memory in the order of physical_layout, the
    outermost first."""
    size, order = tuple(size), tuple(physical_layout)
    if sorted(order) != list(_range(len(size))):
        raise RuntimeError(
            f"empty_permuted(): expected physical_layout to name each of the {len(size)} dimensions once, got {order}"
        )
    result = ops.empty([size[d] for d in order], dtype=dtype, device=device)
    return result.permute([order.index(d) for d in _range(len(size))]).requires_grad_(requires_grad)


def range(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):  # noqa: A001
    """Numbers from `start` to `end`, both among them, `step` apart. Prefer arange()."""
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("range(): expected a step other than 0")
    if (end - start) / step < 0:
        raise RuntimeError(f"range(): expected a step that leads from {start} to {end}, got {step}")
    count = int((end - start) / step) + 1
    dtype = dtype or _C.get_default_dtype()
    result = (ops.arange(count, dtype=_C.float64, device=device) * step + start).to(dtype)
    return into(out, result) if out is not None else result.requires_grad_(requires_grad)


def vander(x, N=None, increasing=False):
    """The powers of a vector's elements in columns, the highest first: (n, N)."""
    if x.dim() != 1:
        raise RuntimeError(f"vander(): expected x with 1 dimension, got {x.dim()}")
    count = x.size(0) if N is None else N
    if count < 0:
        raise RuntimeError(f"vander(): expected N of at least 0, got {count}")
    one = x.new_ones((x.size(0), min(count, 1)), dtype=x.dtype if x.is_floating_point() else _C.int64)
    powers = ops.cat([one, x.unsqueeze(1).expand((x.size(0), max(count - 1, 0))).cumprod(1)], 1)
    return powers if increasing else powers.flip((1,))


def chain_matmul(*matrices, out=None):
    """The product of matrices; linalg.multi_dot() of a list."""
    from shunt.linalg import multi_dot

    matrices = (
        list(matrices[0]) if len(matrices) == 1 and not isinstance(matrices[0], _C.TensorBase) else list(matrices)
    )
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices, out=out)


def _derivative(x, d, spacing, edge_order):
    """Differences along a dimension, central inside; `spacing` is a number or the places of the slices."""
    n = x.size(d)
    if n < edge_order + 1:
        raise RuntimeError(
            f"gradient(): expected {edge_order + 1} elements or more in dimension {d}, for edge_order={edge_order}, "
            f"got {n}"
        )
    if isinstance(spacing, _C.TensorBase):
        shape = (-1,) + (1,) * (x.dim() - 1 - d)
        gaps = (spacing[1:] - spacing[:-1]).to(x.dtype).reshape(shape)
    else:
        gaps = ops.full((n - 1,) + (1,) * (x.dim() - 1 - d), float(spacing), dtype=x.dtype, device=x.device)

    def part(t, start, end):
        return t.narrow(d, start, end - start) if t is x else t.narrow(0, start, end - start)

    def slope(i):
        return (part(x, i + 1, i + 2) - part(x, i, i + 1)) / part(gaps, i, i + 1)

    first, last = slope(0), slope(n - 2)
    before, after = part(gaps, 0, n - 2), part(gaps, 1, n - 1)
    if isinstance(spacing, _C.TensorBase):
        # The parabola's slope as a sum of three elements: differences of two would make NaN of an infinite one.
        inside = part(x, 2, n) * (before / (after * (before + after))) - part(x, 0, n - 2) * (
            after / (before * (before + after))
        )
        inside = inside + part(x, 1, n - 1) * ((after - before) / (before * after))
    else:
        inside = (part(x, 2, n) - part(x, 0, n - 2)) / (before + after)
    if edge_order == 2:
        # The parabola through the three elements at an end.
        a, b = part(gaps, 0, 1), part(gaps, 1, 2)
        first = (slope(0) * (2 * a + b) - slope(1) * a) / (a + b)
        a, b = part(gaps, n - 2, n - 1), part(gaps, n - 3, n - 2)
        last = (slope(n - 2) * (2 * a + b) - slope(n - 3) * a) / (a + b)
    return ops.cat([first, inside, last], d)


def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """A tuple of derivatives along dimensions, by differences of the second order inside.

    Args:
        spacing: the distance of elements, a number or one for each dimension; or tensors of their places, one for each.
        dim: one dimension, or several; all by default.
        edge_order: 1 or 2: the order at the ends.
    """
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient(): expected edge_order to be 1 or 2, got {edge_order}")
    dims = [dim] if isinstance(dim, int) else list(dim) if dim is not None else list(_range(input.dim()))
    dims = [wrapped(d, input.dim()) for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"gradient(): expected each dimension once, got {dims}")
    spacing = 1 if spacing is None else spacing
    spacings = list(spacing) if isinstance(spacing, (tuple, list)) else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(
            f"gradient(): expected spacing to be None, a number or {len(dims)} of them, one for each dimension, got "
            f"{len(spacings)}"
        )
    x = input if input.is_floating_point() else input.to(_C.get_default_dtype())
    return tuple(_derivative(x, d, s, edge_order) for d, s in zip(dims, spacings))


def _of_linalg(name, function, doc):
    def call(input, *args, **kwargs):
        from shunt import linalg

        return getattr(linalg, function)(input, *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return method(call)


inverse = _of_linalg("inverse", "inv", "The inverses of matrices: linalg.inv().")
det = _of_linalg("det", "det", "The determinants of matrices: linalg.det().")
slogdet = _of_linalg("slogdet", "slogdet", "(sign, logabsdet) of the determinants of matrices: linalg.slogdet().")


@method
def cholesky(input, upper=False, *, out=None):
    """The Cholesky factors of matrices: linalg.cholesky()."""
    from shunt import linalg

    return cast_into(out, linalg.cholesky(input, upper=upper))


matrix_power = _of_linalg("matrix_power", "matrix_power", "Powers of matrices: linalg.matrix_power().")


@method
def logdet(input):
    """The logarithms of the determinants of matrices; NaN for a negative one."""
    sign, logs = slogdet(input)
    return ops.where(sign == -1, float("nan"), logs)


@method
@by_policy("cholesky_solve")
def cholesky_solve(input, L, upper=False, *, out=None):
    """X with A @ X = input, for the Cholesky factor L of A."""
    from shunt.linalg import solve_triangular

    lower = L.mT if upper else L
    result = solve_triangular(lower.mT, solve_triangular(lower, input, upper=False), upper=True)
    return cast_into(out, result)


@method
def erfinv(input, *, out=None):
    """The number whose erf() is the element; infinite at -1 and 1, and NaN beyond."""
    from shunt._inverses import erfinv as inverse_of_erf

    return inverse_of_erf(input, out=out)


@method
def erfinv_(input):
    """erfinv(), in place."""
    return _write("erfinv_", input, erfinv)


@method
def i0(input, *, out=None):
    """The modified Bessel function of the first kind of order 0."""
    from shunt import special

    return special.i0(input, out=out)


@method
def i0_(input):
    """i0(), in place."""
    return _write("i0_", input, i0)


def _write(name, input, function):
    result = function(input)
    if not input.is_floating_point():
        raise RuntimeError(
            f"{name}(): result type {result.dtype} can't be cast to the desired output type {input.dtype}, self's dtype"
        )
    return input.copy_(result)


@method
def storage(input):
    """The memory with the tensor's dtype, a TypedStorage. Prefer untyped_storage()."""
    from shunt._typed_storage import TypedStorage

    return TypedStorage(input)


@method
def hardshrink(input, lambd=0.5):
    """The elements whose absolute value is above `lambd`, and 0 for others: nn.functional.hardshrink()."""
    from shunt.nn.functional import hardshrink as shrunk

    return shrunk(input, lambd)
