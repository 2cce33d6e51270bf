"""Parametrizations of weights: their direction and length apart, a largest singular value of 1, orthonormal rows or
columns."""

from shunt import _operators as ops
from shunt._composites._common import wrapped
from shunt.autograd import no_grad
from shunt.nn import _orthogonal
from shunt.nn import functional as F
from shunt.nn.modules.conv import _ConvTranspose
from shunt.nn.modules.module import Module
from shunt.nn.utils import parametrize


def norm_except_dim(v, dim):
    """The norms of v's slices along dim, of v's number of dimensions; of all of v, without dimensions, where dim is
    -1."""
    if dim == -1:
        return (v * v).sum().sqrt()
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    return (v * v).sum(others, True).sqrt() if others else ops.abs(v)


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight):
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Splits a weight in its length along dim (None for all of it) and its direction (Salimans and Kingma 2016);
    returns the
    module."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def from_older_state(state_dict, prefix, *args):
        for old, new in ((f"{prefix}{name}_g", "original0"), (f"{prefix}{name}_v", "original1")):
            if old in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.{new}"] = state_dict.pop(old)

    module._register_load_state_dict_pre_hook(from_older_state)
    return module


class PowerIteration:
    """The largest singular value of a weight, by power iteration: what both forms of spectral_norm compute."""

    @staticmethod
    def matrix_of(weight, dim):
        """The weight as a matrix whose rows are along dim."""
        if dim != 0:
            weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
        return weight.flatten(1)

    @staticmethod
    def iterate(matrix, u, v, times, eps):
        """Turns u and v, in place, towards the singular vectors."""
        with no_grad():
            for _ in range(times):
                u.copy_(F.normalize(matrix.detach() @ v, dim=0, eps=eps))
                v.copy_(F.normalize(matrix.detach().t() @ u, dim=0, eps=eps))

    @staticmethod
    def start(matrix, eps, like):
        """Random unit vectors (rows) and (columns)."""
        rows, columns = matrix.shape
        return (
            F.normalize(like.new_empty(rows).normal_(0, 1), dim=0, eps=eps),
            F.normalize(like.new_empty(columns).normal_(0, 1), dim=0, eps=eps),
        )


def default_dim(module, dim):
    """Along which dimension outputs are counted."""
    return (1 if isinstance(module, _ConvTranspose) else 0) if dim is None else dim


def check_iterations(count):
    """ValueError for less than one iteration."""
    if count <= 0:
        raise ValueError(f"spectral_norm(): expected n_power_iterations of at least 1, got {count}")


def _named(function, module, name):
    tensor = getattr(module, name, None)
    if tensor is None:
        raise ValueError(f"{function}(): {type(module).__name__} has neither a parameter nor a buffer {name!r}")
    return tensor


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if weight.dim() == 0:
            raise IndexError("spectral_norm(): expected a weight with 1 dimension or more, got 0")
        check_iterations(n_power_iterations)
        self.dim, self.eps = wrapped(dim, weight.dim()), eps
        if weight.dim() > 1:
            self.n_power_iterations = n_power_iterations
            with no_grad():
                matrix = PowerIteration.matrix_of(weight.detach(), self.dim)
                u, v = PowerIteration.start(matrix, eps, weight.detach())
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)
            PowerIteration.iterate(matrix, u, v, 15, eps)

    def forward(self, weight):
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = PowerIteration.matrix_of(weight, self.dim)
        if self.training:
            PowerIteration.iterate(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        # Of copies, as the next forward changes the vectors before this one's backward may need them.
        sigma = (self._u.clone() * (matrix @ self._v.clone())).sum()
        return weight / sigma

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a weight by its largest singular value (Miyato and others 2018), which n_power_iterations a forward in
    training
    keep up to date; returns the module. dim: along which outputs are counted."""
    weight = _named("spectral_norm", module, name)
    parametrize.register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, default_dim(module, dim), eps)
    )
    return module


_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    def __init__(self, weight, orthogonal_map, use_trivialization):
        super().__init__()
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x):
        rows, columns = x.shape[-2:]
        wide = rows < columns
        if wide:
            x, rows, columns = x.transpose(-2, -1), columns, rows
        if self.orthogonal_map == "householder":
            below = x.tril(-1)
            q = _orthogonal.product_of_reflections(below, 2.0 / (1.0 + (below * below).sum(-2)))
            # A diagonal of -1 and 1 lets all orthogonal matrices be reached.
            q = q * x.detach().diagonal(0, -2, -1).trunc().unsqueeze(-2)
        else:
            lower = x.tril()
            if rows != columns:
                lower = ops.cat(
                    [lower, lower.new_zeros(lower.size(-2), rows - columns).expand(*lower.shape[:-1], rows - columns)],
                    -1,
                )
            skew = lower - lower.transpose(-2, -1)
            q = (_orthogonal.exponential if self.orthogonal_map == "matrix_exp" else _orthogonal.cayley)(skew)
            q = q[..., :columns]
        if getattr(self, "base", None) is not None:
            q = self.base @ q
        return q.transpose(-2, -1) if wide else q

    def right_inverse(self, q):
        if q.shape != self.shape:
            raise ValueError(f"orthogonal(): expected a weight of shape {tuple(self.shape)}, got {tuple(q.shape)}")
        rows, columns = q.shape[-2:]
        wide = rows < columns
        if wide:
            q, rows, columns = q.transpose(-2, -1), columns, rows
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "orthogonal(): expected use_trivialization=True for a weight that is assigned, with the map "
                    f"{self.orthogonal_map}, got False"
                )
            vectors, tau = _orthogonal.reflections(q)
            signs = ops.sign(vectors.diagonal(0, -2, -1))
            vectors.diagonal(0, -2, -1).copy_(ops.where(tau == 0, -signs, signs))
            return vectors.transpose(-2, -1) if wide else vectors
        if rows != columns:
            q = ops.cat([q, q.new_empty(*q.shape[:-1], rows - columns).normal_(0, 1)], -1)
            self.base = _orthogonal.orthonormal_columns(q)
        else:
            self.base = q.clone() if _is_orthogonal(q) else _orthogonal.orthonormal_columns(q)
        result = ops.eye(rows, columns, dtype=q.dtype).neg().expand(*q.shape[:-2], rows, columns).clone()
        return result.transpose(-2, -1) if wide else result


def _is_orthogonal(q):
    unit = ops.eye(q.size(-1), dtype=q.dtype)
    return bool(
        (
            ops.abs(q.transpose(-2, -1) @ q - unit)
            < 100 * q.size(-1) * (2.0**-52 if q.element_size() == 8 else 2.0**-23)
        ).all()
    )


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keeps a weight's rows, or its columns where there are fewer, orthonormal; returns the module.

    Args:
        orthogonal_map: "matrix_exp" (the default of square weights) or "cayley" of a skew-symmetric matrix, or
        "householder",
            a product of reflections (the default of others).
        use_trivialization: whether the map is taken at the present weight, which so can be assigned to.
    ValueError for other maps and for weights of fewer than two dimensions.
    """
    weight = _named("orthogonal", module, name)
    if weight.dim() < 2:
        raise ValueError(f"orthogonal(): expected a weight with 2 dimensions or more, got {weight.dim()}")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(f"orthogonal(): expected orthogonal_map to be one of {list(_MAPS)}, got {orthogonal_map!r}")
    parametrize.register_parametrization(
        module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True
    )
    return module
