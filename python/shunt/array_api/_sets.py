"""Set functions: the distinct elements of a tensor, in order. Each NaN is distinct from the others."""

from collections import namedtuple

import shunt
from shunt import _C

UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = namedtuple("UniqueCounts", "values counts")
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices")


def unique_all(x, /):
    """The distinct elements, where each is first found in the flattened tensor, which of them each element of `x` is,
    and how often each is there."""
    values, order = shunt.sort(x.reshape(-1), stable=True)
    first = shunt.ones(values.shape, dtype=_C.bool)
    first[1:] = values[1:] != values[:-1]
    starts = first.nonzero()[:, 0]
    inverse = shunt.empty_like(order)
    inverse[order] = first.cumsum(0) - 1
    ends = shunt.cat([starts[1:], shunt.full((min(1, len(starts)),), values.numel(), dtype=_C.int64)])
    return UniqueAll(values[starts], order[starts], inverse.reshape(x.shape), ends - starts)


def unique_counts(x, /):
    """The distinct elements, and how often each is there."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x, /):
    """The distinct elements, and which of them each element of `x` is."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x, /):
    """The distinct elements."""
    return unique_all(x).values
