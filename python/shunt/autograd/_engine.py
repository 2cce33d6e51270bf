"""backward and grad."""

from shunt._C import TensorBase, _run_backward


def _as_tuple(tensors, name):
    if isinstance(tensors, TensorBase):
        return (tensors,)
    if isinstance(tensors, (tuple, list)):
        return tuple(tensors)
    try:
        return tuple(tensors)
    except TypeError:
        raise TypeError(f"{name}: expected a Tensor or several in a sequence, got {type(tensors).__name__}") from None


def _gradients(given, outputs, function, name):
    if given is None:
        return (None,) * len(outputs)
    if isinstance(given, TensorBase):
        return (given,)
    try:
        return tuple(given)
    except TypeError:
        raise TypeError(f"{function}(): expected {name} to be a Tensor, a sequence of them or None, got "
                        f"{type(given).__name__}") from None


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Adds the gradients of the sum of `tensors` to `grad` of the leaves they were computed from.

    Args:
        tensors: a Tensor, or several in a sequence.
        grad_tensors: their gradients, of the same shapes; None where a tensor has one element (1 then).
        retain_graph: whether the graph may be used again; create_graph by default.
        create_graph: whether the gradients can be differentiated in turn.
        inputs: tensors whose grad is to be changed; all leaves by default.
    """
    outputs = _as_tuple(tensors, "backward")
    wanted = () if inputs is None else _as_tuple(inputs, "backward")
    if inputs is not None and not wanted:
        raise RuntimeError(
            "backward(): expected at least one tensor in inputs, or None for all leaves, got an empty sequence"
        )
    _run_backward(outputs, _gradients(grad_tensors, outputs, "backward", "gradient"),
                  create_graph if retain_graph is None else retain_graph, create_graph, wanted, True, True)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """The gradients of the sum of `outputs` with respect to `inputs`, as a tuple. No `grad` is changed.

    Args:
        outputs, inputs: Tensors, one or a sequence of them.
        grad_outputs: gradients of `outputs`, of the same shapes; None where an output has one element (1 then).
        retain_graph: whether the graph may be used again; create_graph by default.
        create_graph: whether the gradients can be differentiated in turn.
        allow_unused: whether None may be returned for inputs that outputs don't depend on; else RuntimeError.
        is_grads_batched: grad_outputs have one more dimension in front, and so have the results: a backward for each.
        materialize_grads: zeros instead of None.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "grad(): materialize_grads=True gives zeros for inputs that aren't used, so expected allow_unused=True or "
            "none given, got False"
        )
    tensors, wanted = _as_tuple(outputs, "grad"), _as_tuple(inputs, "grad")
    gradients = _gradients(grad_outputs, tensors, "grad", "grad_outputs")
    keep = create_graph if retain_graph is None else retain_graph
    if allow_unused is not None and not isinstance(allow_unused, int):
        raise TypeError(f"grad: argument 'allow_unused' must be bool or None, not {type(allow_unused).__name__}")
    unused = bool(allow_unused) or materialize_grads
    if is_grads_batched:
        return _batched(tensors, wanted, gradients, keep, create_graph, unused, materialize_grads)
    result = _run_backward(tensors, gradients, keep, create_graph, wanted, unused, False)
    return _zeros_for_none(result, wanted) if materialize_grads else result


def _zeros_for_none(grads, inputs):
    from shunt import zeros_like
    return tuple(zeros_like(i) if g is None else g for g, i in zip(grads, inputs))


def _batched(tensors, inputs, gradients, keep, create_graph, unused, materialize):
    """One backward for each of the gradients that are stacked in the first dimension."""
    from shunt import stack
    size = next((g.shape[0] for g in gradients if g is not None), None)
    if size is None or any(g is None or g.shape[:1] != (size,) for g in gradients):
        raise RuntimeError("grad: with is_grads_batched each of grad_outputs needs a first dimension, of one size, got "
                           f"{[None if g is None else tuple(g.shape) for g in gradients]}")
    rows = []
    for i in range(size):
        last = i == size - 1
        given = tuple(g[i] for g in gradients)
        row = _run_backward(tensors, given, keep or not last, create_graph, inputs, unused, False)
        rows.append(_zeros_for_none(row, inputs) if materialize else row)
    return tuple(None if column[0] is None else stack(column) for column in zip(*rows))
