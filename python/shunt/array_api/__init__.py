"""The Python array API standard, 2024.12, over Shunt's tensors: https://data-apis.org/array-api

    xp = x.__array_namespace__()
    y = xp.concat([x, xp.zeros((2, 3))], axis=0)

Libraries that take arrays of any kind call functions by the standard's names and arguments, which are NumPy's (`axis`,
`keepdims`); this module has them. Functions of complex numbers, Fourier transforms and decompositions of matrices are
not among them. uint16, uint32 and uint64 aren't either.
"""

from math import e, inf, nan, pi

from shunt._C import bool, complex64, complex128, float32, float64, int8, int16, int32, int64, uint8
from shunt.array_api import linalg
from shunt.array_api._creation import (arange, asarray, empty, empty_like, eye, from_dlpack, full, full_like, linspace,
                                       meshgrid, ones, ones_like, tril, triu, zeros, zeros_like)
from shunt.array_api._data_types import astype, can_cast, finfo, iinfo, isdtype, result_type
from shunt.array_api._elementwise import *  # noqa: F403  their table is there
from shunt.array_api._info import __array_namespace_info__
from shunt.array_api._manipulation import (broadcast_arrays, broadcast_to, concat, expand_dims, flip, moveaxis,
                                           permute_dims, repeat, reshape, roll, squeeze, stack, take, take_along_axis,
                                           tile, unstack)
from shunt.array_api._reductions import (all, any, argmax, argmin, argsort, count_nonzero, cumulative_prod,
                                         cumulative_sum, diff, max, mean, min, nonzero, prod, searchsorted, sort, std,
                                         sum, var, where)
from shunt.array_api._sets import unique_all, unique_counts, unique_inverse, unique_values
from shunt.array_api.linalg import matmul, matrix_transpose, tensordot, vecdot

__array_api_version__ = "2024.12"
newaxis = None
