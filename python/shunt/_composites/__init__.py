"""Functions and methods that are made of a few operators each, where PyTorch has one of the name."""

from shunt import _operators
from shunt._composites import more_forms  # noqa: F401  registers them
from shunt._composites._common import METHODS, broadcast_shapes
from shunt._composites.indexing import index_copy, index_fill, masked_scatter, put, take
from shunt._composites.linear_algebra import addbmm, addmv, addr, cdist, dist, inner, kron, tensordot, vdot
from shunt._composites.pointwise import conj, conj_physical, imag, isreal, real, resolve_conj, resolve_neg
from shunt._composites.reductions import (
    aminmax,
    count_nonzero,
    kthvalue,
    msort,
    nanmean,
    nanquantile,
    nansum,
    quantile,
)
from shunt._composites.sampling import binomial, poisson
from shunt._composites.scans import cummax, cummin, cumulative_trapezoid, diff, logcumsumexp, trapezoid, trapz
from shunt._composites.sets import histc, histogram, mode, unique, unique_consecutive
from shunt._composites.shapes import (
    PROPERTIES,
    adjoint,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_tensors,
    rot90,
    unflatten,
)
from shunt._composites.splits import (
    block_diag,
    cartesian_prod,
    combinations,
    diag_embed,
    diagflat,
    dsplit,
    hsplit,
    meshgrid,
    tensor_split,
    tril_indices,
    triu_indices,
    unfold,
    unravel_index,
    unsafe_chunk,
    unsafe_split,
    vsplit,
)
from shunt._composites.various import (
    chain_matmul,
    cholesky,
    cholesky_solve,
    det,
    empty_permuted,
    erfinv,
    gradient,
    index_reduce,
    inverse,
    logdet,
    matrix_power,
    range,
    slogdet,
    vander,
)
from shunt._composites.statistics import argwhere, corrcoef, cov, isin, renorm

__all__ = [
    "addbmm",
    "addmv",
    "addr",
    "adjoint",
    "aminmax",
    "argwhere",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "binomial",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "cholesky",
    "cholesky_solve",
    "combinations",
    "conj",
    "conj_physical",
    "corrcoef",
    "count_nonzero",
    "cov",
    "cummax",
    "cummin",
    "cumulative_trapezoid",
    "det",
    "diag_embed",
    "diagflat",
    "diff",
    "dist",
    "dsplit",
    "empty_permuted",
    "erfinv",
    "gradient",
    "histc",
    "histogram",
    "hsplit",
    "imag",
    "index_copy",
    "index_fill",
    "index_reduce",
    "inner",
    "inverse",
    "isin",
    "isreal",
    "kron",
    "kthvalue",
    "logcumsumexp",
    "logdet",
    "masked_scatter",
    "matrix_power",
    "meshgrid",
    "mode",
    "msort",
    "nanmean",
    "nanquantile",
    "nansum",
    "poisson",
    "put",
    "quantile",
    "range",
    "real",
    "renorm",
    "resolve_conj",
    "resolve_neg",
    "rot90",
    "slogdet",
    "take",
    "tensor_split",
    "tensordot",
    "trapezoid",
    "trapz",
    "tril_indices",
    "triu_indices",
    "unflatten",
    "unfold",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "unsafe_chunk",
    "unsafe_split",
    "vander",
    "vdot",
    "vsplit",
]

# Functions of the dictionary that others here have the names of are found beside these.
for _name in set(__all__).intersection(vars(_operators)):
    vars(_operators)[_name].__module__ = "shunt._operators"


# Methods whose functions are loaded when one is called.
_RARE_METHODS = ("angle", "cholesky_inverse", "frexp", "gcd", "gcd_", "is_distributed", "lcm", "lcm_", "mvlgamma",
                 "mvlgamma_", "prelu", "set_")


def _rare(name):
    def method(self, *args, **kwargs):
        from shunt import _rare_functions
        return getattr(_rare_functions, name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"shunt.{name}() of the tensor." if not name.endswith("_") else f"{name[:-1]}() in place."
    return method


def add_methods(cls):
    """Gives the class of tensors the methods and properties."""
    for name in _RARE_METHODS:
        setattr(cls, name, _rare(name))
    for name, function in METHODS.items():
        setattr(cls, name, function)
    for name, (getter, doc) in PROPERTIES.items():
        setattr(cls, name, property(getter, doc=doc))
