"""Elementwise functions of complex numbers, for real ones."""

from shunt import _C
from shunt._composites._common import check_tensors, into, method, ops


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
    raise RuntimeError(
        f"imag(): expected complex numbers, which Shunt is without, got {input.dtype}; imag is not implemented"
    )


@method
def conj_physical(input, *, out=None):
    """The complex conjugate: the tensor itself, as it is real."""
    return input if out is None else into(out, input)


@method
def isreal(input):
    """Whether each element is a real number: always."""
    return ops.ones_like(input, dtype=_C.bool)


@method
def conj_physical_(input):
    """The in-place form of conj_physical(): returns the tensor, which is real."""
    return input
