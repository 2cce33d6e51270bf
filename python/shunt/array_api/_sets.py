"""Set functions: the distinct elements of a tensor, in order. Each NaN is distinct from the others."""

from collections import namedtuple

from shunt._composites.sets import counted, distinct

UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = namedtuple("UniqueCounts", "values counts")
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices")


def unique_all(x, /):
    """The distinct elements, where each is first found in the flattened tensor, which of them each element of `x` is,
    and how often each is there."""
    values, indices, inverse = distinct(x.reshape(-1))
    return UniqueAll(values, indices, inverse.reshape(x.shape), counted(inverse, len(values)))


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
