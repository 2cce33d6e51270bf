"""Derivatives of functions: jacobian, hessian, and their products with vectors."""

import shunt
from shunt._C import TensorBase
from shunt.autograd._engine import grad
from shunt.autograd._grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _as_tuple(value, what, function):
    """The value as a tuple of Tensors, and whether it was one."""
    several = isinstance(value, (tuple, list))
    result = tuple(value) if several else (value,)
    for i, t in enumerate(result):
        if not isinstance(t, TensorBase):
            place = f" at index {i}" if several else ""
            raise TypeError(f"{function}(): expected {what} to be Tensors, got {type(t).__name__}{place}")
    return result, several


def _inputs(inputs, function, create_graph):
    """The inputs as tensors to differentiate by: within the caller's graph with create_graph, else apart from it."""
    given, several = _as_tuple(inputs, "inputs", function)
    with enable_grad():
        leaves = tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in given)
    return leaves, several


def _outputs(func, inputs, function):
    with enable_grad():
        return _as_tuple(func(*inputs), "outputs of the user-provided function", function)


def _vectors(v, like, several, function):
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"{function}(): expected v, which may be left out for a single element only, got None")
        return (shunt.ones_like(like[0]),)
    vectors, _ = _as_tuple(v, "v", function)
    if len(vectors) != len(like):
        raise RuntimeError(f"{function}(): expected v with {len(like)} tensors, got {len(vectors)}")
    for i, (a, b) in enumerate(zip(vectors, like)):
        if a.shape != b.shape:
            raise RuntimeError(f"{function}(): expected v of shape {tuple(b.shape)} at index {i}, got {tuple(a.shape)}")
    return tuple(a.view_as(a) if a.requires_grad else a.detach() for a in vectors)


def _grad(outputs, inputs, vectors, create_graph, retain_graph=None):
    """Gradients, None where there is none; outputs that require no gradient have none."""
    chosen = [(o, v) for o, v in zip(outputs, vectors) if o.requires_grad]
    if not chosen:
        return (None,) * len(inputs)
    return grad(tuple(o for o, _ in chosen), inputs, tuple(v for _, v in chosen), allow_unused=True,
                create_graph=create_graph, retain_graph=retain_graph)


def _filled(results, like, strict, message):
    """Zeros for None, or with `strict` RuntimeError."""
    if strict and any(r is None for r in results):
        raise RuntimeError(message)
    return tuple(shunt.zeros_like(t) if r is None else r for r, t in zip(results, like))


def _checked_outputs(outputs, strict, function):
    if strict and not all(o.requires_grad for o in outputs):
        raise RuntimeError(
            f"{function}(): strict=True expects func to record gradients for all its outputs, got one without"
        )


def _finished(results, several, create_graph):
    results = tuple(r if create_graph else r.detach() for r in results)
    return results if several else results[0]


_INDEPENDENT = "{}(): strict=True expects outputs that depend on all inputs, got output {} that doesn't"


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """The outputs of func(*inputs), and the product of the vector v with its Jacobian.

    Args:
        func: takes Tensors, returns one or a tuple of them.
        inputs: what func takes, one Tensor or a tuple.
        v: of the outputs' shapes; may be left out where there is one element.
        create_graph: whether the results can be differentiated.
        strict: RuntimeError, not zeros, for inputs that outputs don't depend on.
    """
    leaves, several_inputs = _inputs(inputs, "vjp", create_graph)
    outputs, several_outputs = _outputs(func, leaves, "vjp")
    _checked_outputs(outputs, strict, "vjp")
    vectors = _vectors(v, outputs, several_outputs, "vjp")
    with enable_grad():
        results = _grad(outputs, leaves, vectors, create_graph)
        results = _filled(results, leaves, strict, _INDEPENDENT.format("vjp", ""))
    return _finished(outputs, several_outputs, create_graph), _finished(results, several_inputs, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """The outputs of func(*inputs), and the product of its Jacobian with the vector v, by going backward twice.

    Args: as of vjp, with v of the inputs' shapes.
    """
    leaves, several_inputs = _inputs(inputs, "jvp", create_graph)
    vectors = _vectors(v, leaves, several_inputs, "jvp")
    outputs, several_outputs = _outputs(func, leaves, "jvp")
    _checked_outputs(outputs, strict, "jvp")
    with enable_grad():
        # The product u J is linear in u, so its derivative by u along v is J v.
        u = tuple(shunt.zeros_like(o, requires_grad=True) for o in outputs)
        products = _filled(_grad(outputs, leaves, u, True), leaves, strict, _INDEPENDENT.format("jvp", ""))
        results = _grad(products, u, vectors, create_graph)
        results = _filled(results, outputs, False, "")
    return _finished(outputs, several_outputs, create_graph), _finished(results, several_outputs, create_graph)


def _row_wise(output, leaves, create_graph):
    """For each input the gradients of each element of the output, stacked; None where the output needs none."""
    flat = output.reshape(-1)
    rows = []
    for i in range(flat.numel()):
        one = shunt.zeros_like(flat.detach())
        one[i] = 1
        rows.append(_grad((flat,), leaves, (one,), create_graph, retain_graph=True))
    return rows


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian of func at inputs: of shape output.shape + input.shape for one output and one input.

    For tuples of inputs a tuple, for tuples of outputs a tuple of those. Args as of vjp; `vectorize` is taken and
    changes nothing; strategy: "reverse-mode" is what there is.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(f"jacobian(): expected strategy to be 'reverse-mode' or 'forward-mode', got {strategy!r}")
    if strategy == "forward-mode":
        raise NotImplementedError("jacobian: Shunt has no forward mode; leave out strategy")
    leaves, several_inputs = _inputs(inputs, "jacobian", create_graph)
    outputs, several_outputs = _outputs(func, leaves, "jacobian")
    _checked_outputs(outputs, strict, "jacobian")
    result = []
    with enable_grad():
        for k, output in enumerate(outputs):
            rows = _row_wise(output, leaves, create_graph)
            blocks = []
            for j, leaf in enumerate(leaves):
                column = [r[j] for r in rows]
                if strict and any(c is None for c in column):
                    raise RuntimeError(_INDEPENDENT.format("jacobian", k))
                column = [shunt.zeros_like(leaf) if c is None else c for c in column]
                shape = (*output.shape, *leaf.shape)
                block = shunt.stack(column).reshape(shape) if column else shunt.zeros(shape, dtype=leaf.dtype)
                if strict and create_graph and not block.requires_grad:
                    raise RuntimeError(
                        "jacobian(): strict=True with create_graph=True expects a Jacobian that depends on the inputs, "
                        "got a constant one"
                    )
                blocks.append(block if create_graph else block.detach())
            result.append(tuple(blocks) if several_inputs else blocks[0])
    return tuple(result) if several_outputs else result[0]


def _scalar(output, several, function):
    if several and len(output) != 1 or output[0].numel() != 1:
        raise RuntimeError(
            f"{function}(): expected func to return one number, got {len(output)} tensors, the first of shape "
            f"{tuple(output[0].shape)}"
        )
    return output[0].reshape(())


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The Hessian of func, whose result has one element: of shape input.shape + input.shape, or a tuple of tuples."""
    _, several = _as_tuple(inputs, "inputs", "hessian")

    def gradient(*args):
        output, is_tuple = _as_tuple(func(*args), "outputs of the user-provided function", "hessian")
        value = _scalar(output, is_tuple, "hessian")
        _checked_outputs((value,), strict, "hessian")
        results = _grad((value,), args, (shunt.ones_like(value),), True)
        results = _filled(results, args, strict, _INDEPENDENT.format("hessian", ""))
        return results if several else results[0]

    return jacobian(gradient, inputs, create_graph=create_graph, strict=strict)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """The output of func(*inputs), which has one element, and the product of v with its Hessian; v as the inputs."""
    leaves, several = _inputs(inputs, "vhp", create_graph)
    vectors = _vectors(v, leaves, several, "vhp")
    outputs, is_tuple = _outputs(func, leaves, "vhp")
    with enable_grad():
        value = _scalar(outputs, is_tuple, "vhp")
        _checked_outputs((value,), strict, "vhp")
        gradient = _filled(_grad((value,), leaves, (shunt.ones_like(value),), True), leaves, strict,
                           _INDEPENDENT.format("vhp", ""))
        results = _grad(gradient, leaves, vectors, create_graph)
        results = _filled(results, leaves, strict, _INDEPENDENT.format("vhp", ""))
    return _finished(outputs, is_tuple, create_graph), _finished(results, several, create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """The output of func(*inputs), which has one element, and the product of its Hessian with v, by going backward
    twice through the gradient. vhp is faster where the Hessian is symmetric, which it mostly is."""
    leaves, several = _inputs(inputs, "hvp", create_graph)
    vectors = _vectors(v, leaves, several, "hvp")
    outputs, is_tuple = _outputs(func, leaves, "hvp")
    with enable_grad():
        value = _scalar(outputs, is_tuple, "hvp")
        _checked_outputs((value,), strict, "hvp")
        gradient = _filled(_grad((value,), leaves, (shunt.ones_like(value),), True), leaves, strict,
                           _INDEPENDENT.format("hvp", ""))
        u = tuple(shunt.zeros_like(g, requires_grad=True) for g in gradient)
        products = _filled(_grad(gradient, leaves, u, True), leaves, False, "")
        results = _filled(_grad(products, u, vectors, create_graph), leaves, strict, _INDEPENDENT.format("hvp", ""))
    return _finished(outputs, is_tuple, create_graph), _finished(results, several, create_graph)
