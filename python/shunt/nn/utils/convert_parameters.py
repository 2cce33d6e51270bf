"""Parameters as one vector."""

from shunt._iterables import iterable_of
from shunt.autograd import no_grad


def parameters_to_vector(parameters):
    """All parameters' elements in one tensor of one dimension."""
    from shunt import cat
    return cat([p.reshape(-1) for p in iterable_of("Tensors", "parameters_to_vector", "parameters", parameters)])


def vector_to_parameters(vec, parameters):
    """Gives the parameters the elements of such a vector."""
    begin = 0
    with no_grad():
        for p in iterable_of("Tensors", "vector_to_parameters", "parameters", parameters):
            p.copy_(vec[begin:begin + p.numel()].view_as(p))
            begin += p.numel()
