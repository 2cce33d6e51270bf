"""Parameters as one vector."""

from shunt.autograd import no_grad


def parameters_to_vector(parameters):
    """All parameters' elements in one tensor of one dimension."""
    from shunt import cat
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Gives the parameters the elements of such a vector."""
    begin = 0
    with no_grad():
        for p in parameters:
            p.copy_(vec[begin:begin + p.numel()].view_as(p))
            begin += p.numel()
