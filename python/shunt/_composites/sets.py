"""Different values and how often they come."""

import functools

from shunt import _C
from shunt._composites._common import into, method, named_results, ops, wrapped
from shunt._composites.reductions import mode_result


@functools.cache
def _histogram_result():
    return named_results("histogram", "hist", "bin_edges")


def _answers(values, inverse, counts, return_inverse, return_counts):
    wanted = [values, *([inverse] if return_inverse else ()), *([counts] if return_counts else ())]
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


def _sortable(x):
    return x.to(_C.uint8) if x.dtype is _C.bool else x


def distinct(flat):
    """(the distinct elements of a vector in order, where each comes first, which of them each element is)."""
    order = _sortable(flat).argsort(stable=True)
    ordered = flat[order]
    first = ops.ones((min(flat.size(0), 1),), dtype=_C.bool, device=flat.device)
    begins = ops.cat([first, ordered[1:] != ordered[:-1]], 0)
    runs = begins.cumsum(0) - 1
    return ordered[begins], order[begins], ops.empty_like(runs).scatter_(0, order, runs)


def counted(inverse, count):
    """How often each of 0 ... count - 1 is among the elements of a vector of ints."""
    return inverse.new_zeros((count,)).scatter_add_(0, inverse, ops.ones_like(inverse))


@method
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements, in order; with `dim` the different slices along it.

    Args:
        sorted: False allows another order; it is the same here.
        return_inverse: returns for each element the place of its value, too: of the input's shape, or
            (input.size(dim),).
        return_counts: returns how often each value comes, too.
    """
    if dim is None:
        found = ops._unique2(input, sorted, return_inverse, return_counts)
    else:
        found = ops.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _answers(*found, return_inverse, return_counts)


@method
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements that differ from the one before; with `dim` the slices along it. As unique() otherwise."""
    return _answers(*ops.unique_consecutive(input, return_inverse, return_counts, dim), return_inverse, return_counts)


@method
def mode(input, dim=-1, keepdim=False, *, out=None):
    """(values, indices): the most frequent value along a dimension, the smallest of several, and the place where it
    comes last."""
    d = wrapped(dim, input.dim())
    if input.dim() == 0:
        values, places = input.clone(), ops.zeros((), dtype=_C.int64, device=input.device)
    else:
        if input.size(d) == 0:
            raise IndexError(f"mode(): expected dimension {d} with at least one element, got none")
        order = _sortable(input).argsort(dim=d, stable=True)
        ordered = input.gather(d, order)
        n = input.size(d)
        place = ops.arange(n, device=input.device).reshape((-1,) + (1,) * (input.dim() - 1 - d)).expand(input.shape)
        same = ordered.narrow(d, 1, n - 1) == ordered.narrow(d, 0, n - 1)
        begins = ops.cat([ops.ones_like(same.narrow(d, 0, 0).sum(d, keepdim=True), dtype=_C.bool), ~same], d)
        start = ops.where(begins, place, 0).cummax(d)[0]
        longest = (place - start).argmax(d, keepdim=True)
        values, places = ordered.gather(d, longest), order.gather(d, longest)
        if not keepdim:
            values, places = values.squeeze(d), places.squeeze(d)
    if out is None:
        return mode_result(values, places)
    return mode_result(into(out[0], values), into(out[1], places))


@method
def histc(input, bins=100, min=0, max=0, *, out=None):
    """How many elements lie in each of `bins` parts of one width between `min` and `max`; in the input's dtype,
    (bins,).

    Args:
        min, max: the bounds; of equal ones the least and the largest element are taken. What is beyond isn't counted.
    """
    if not input.is_floating_point():
        raise RuntimeError(f"histc(): expected a floating-point tensor, got {input.dtype}")
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    if min > max:
        raise RuntimeError(f"histc(): expected min of at most max, got {min} and {max}")
    x = input.detach().reshape((-1,))
    if min == max and x.numel():
        min, max = float(x.min()), float(x.max())
    if min == max:
        min, max = min - 1, max + 1
    if not (abs(min) < float("inf") and abs(max) < float("inf")):
        raise RuntimeError(f"range of [{min}, {max}] is not finite")
    x = x[(x >= min) & (x <= max)]
    place = ((x - min) / (max - min) * bins).to(_C.int64).clamp(max=bins - 1)
    return into(out, place.bincount(minlength=bins).to(input.dtype))


@method
def histogram(input, bins, *, range=None, weight=None, density=False, out=None):
    """(hist, bin_edges): how many elements, or how much of their weight, lies in each bin.

    Args:
        bins: how many of one width, an int; or their edges, a growing sequence in a tensor.
        range: the least and the largest edge; those of the elements by default.
        weight: of each element.
        density: divides by the sum and by the bins' widths.
    """
    x = input.detach().reshape((-1,))
    if isinstance(bins, int):
        low, high = (
            (float(r) for r in range)
            if range is not None
            else (float(x.min()), float(x.max()))
            if x.numel()
            else (0.0, 1.0)
        )
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges = ops.linspace(low, high, bins + 1, dtype=input.dtype, device=input.device)
    else:
        edges = bins
    count = edges.size(0) - 1
    place = ops.searchsorted(edges, x, right=True) - 1
    place = ops.where(x == edges[-1], count - 1, place)
    inside = (place >= 0) & (place < count) & (x == x)
    amounts = ops.ones_like(x) if weight is None else weight.reshape((-1,)).to(x.dtype)
    hist = x.new_zeros((count,)).scatter_add_(0, place[inside], amounts[inside])
    if density:
        hist = hist / hist.sum() / (edges[1:] - edges[:-1])
    if out is None:
        return _histogram_result()(hist, edges)
    return _histogram_result()(into(out[0], hist), into(out[1], edges))
