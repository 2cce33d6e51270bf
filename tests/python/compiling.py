"""What the tests of shunt.compile share."""

import shunt


def compiled(function, **options):
    """compile() whose runs are checked, every one, so that a difference raises."""
    fullgraph = options.pop("fullgraph", False)
    return shunt.compile(function, fullgraph=fullgraph, options={"check": "always", **options})


def unchecked(function, **options):
    """compile() whose graphs run by themselves."""
    return shunt.compile(function, options={"check": "never", **options})


def facts(t):
    """What of a tensor must be eager's: elements, dtype, sizes, strides, whether it requires grad."""
    return repr(t.detach().tolist()), t.dtype, tuple(t.shape), t.stride(), t.requires_grad


def warm(function, *args, times=3, **kwargs):
    """Calls until the graph is there, and returns the last result."""
    for _ in range(times):
        result = function(*args, **kwargs)
    return result


def hits(function):
    return function.counts()["hits"]
