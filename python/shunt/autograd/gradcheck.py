"""gradcheck and gradgradcheck: gradients by autograd against central differences."""


import shunt
from shunt import _C
from shunt._C import TensorBase
from shunt.autograd._engine import grad
from shunt.autograd._grad_mode import enable_grad, no_grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """What gradcheck and gradgradcheck raise."""


def _as_tuple(value):
    if isinstance(value, TensorBase):
        return (value,)
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _is_checked(t):
    return isinstance(t, TensorBase) and t.requires_grad and t.is_floating_point()


def _differentiable(outputs):
    """Tensors of a function's results, those without gradients left out."""
    return tuple(o for o in _as_tuple(outputs) if isinstance(o, TensorBase) and o.requires_grad)


def _tensors(outputs):
    return tuple(o for o in _as_tuple(outputs) if isinstance(o, TensorBase) and o.is_floating_point())


def _check_inputs(inputs):
    if not any(_is_checked(i) for i in inputs):
        raise ValueError(
            f"gradcheck(): expected at least one tensor with requires_grad=True among {len(inputs)} inputs, got none"
        )
    for index, t in enumerate(inputs):
        if not _is_checked(t):
            continue
        if t.dtype != shunt.float64:
            _C._warn(
                f"gradcheck(): expected input {index} of dtype float64, got {t.dtype}; what is not a double precision "
                "number is rarely exact enough to pass",
            )
        if any(size > 1 and stride == 0 for size, stride in zip(t.shape, t.stride())):
            raise RuntimeError(
                f"gradcheck(): expected input {index} without elements that share memory, got strides {t.stride()} for "
                f"shape {tuple(t.shape)}; pass its contiguous() copy"
            )
        t.retain_grad()


def _numerical(func, inputs, t, eps):
    """d outputs / d t by central differences: for each output of shape [t.numel(), output.numel()]."""
    with no_grad():
        def outputs():
            return [o.detach().reshape(-1).clone() for o in _tensors(func(*inputs))]

        rows = []
        for position in range(t.numel()):
            index = _unravel(position, t.shape)
            element = t.data[index] if index else t.data
            before = element.clone()
            element.copy_(before - eps)
            low = outputs()
            element.copy_(before + eps)
            high = outputs()
            element.copy_(before)
            rows.append([(b - a) / (2 * eps) for a, b in zip(low, high)])
    return rows


def _unravel(position, shape):
    index = []
    for size in reversed(shape):
        index.append(position % size)
        position //= size
    return tuple(reversed(index))


def _analytical(output, inputs, seed_dtype):
    """For each input d output / d input of shape [input.numel(), output.numel()], by one backward an element."""
    columns = [[] for _ in inputs]
    for position in range(output.numel()):
        seed = shunt.zeros_like(output, dtype=seed_dtype)
        seed.view(-1)[position] = 1
        grads = grad((output,), inputs, (seed,), retain_graph=True, allow_unused=True)
        for column, g, t in zip(columns, grads, inputs):
            if g is not None and g.shape != t.shape:
                raise GradcheckError(
                    f"gradcheck(): expected a gradient of shape {tuple(t.shape)}, the input's, got {tuple(g.shape)}"
                )
            if g is not None and g.dtype != t.dtype:
                raise GradcheckError(f"gradcheck(): expected a gradient of dtype {t.dtype}, the input's, got {g.dtype}")
            column.append(shunt.zeros_like(t).reshape(-1) if g is None else g.detach().reshape(-1))
    return [shunt.stack(c, 1) if c else shunt.zeros((t.numel(), 0), dtype=t.dtype) for c, t in zip(columns, inputs)]


def _mismatch(what, output, input, differences, gradients):
    return (f"gradcheck(): expected {what} of output {output} by input {input} to be, from differences,\n"
            f"{differences}\ngot, from autograd,\n{gradients}\n")


def _check_slow(func, func_out, inputs, checked, eps, atol, rtol, nondet_tol):
    outputs = _differentiable(func_out)
    analytical = [_analytical(o, checked, o.dtype) for o in outputs]
    if nondet_tol is not None:
        again = [_analytical(o, checked, o.dtype) for o in outputs]
        for first, second in zip(analytical, again):
            for a, b in zip(first, second):
                if a.numel() and not bool(((a - b).abs() <= nondet_tol).logical_or(a.isnan()).all()):
                    raise GradcheckError(
                        "gradcheck(): backward is not reentrant: expected equal gradients, within "
                        f"nondet_tol={nondet_tol}, from two runs of the same, got different ones"
                    )
    places = [i for i, o in enumerate(_tensors(func_out)) if o.requires_grad]
    for j, t in enumerate(checked):
        rows = _numerical(func, inputs, t, eps)
        for k, place in enumerate(places):
            a = analytical[k][j]
            n = shunt.stack([r[place] for r in rows]).to(a.dtype) if rows else shunt.zeros_like(a)
            if not shunt.allclose(a, n, rtol=rtol, atol=atol):
                raise GradcheckError(_mismatch("the Jacobian", place, j, n, a))


def _random_like(t, generator):
    return shunt.rand(t.shape, generator=generator, dtype=shunt.float64).to(t.dtype) + 0.1


def _check_fast(func, func_out, inputs, checked, eps, atol, rtol):
    """Compares u' J v for a random u and v with its central difference, which is one number for each pair."""
    generator = shunt.Generator().manual_seed(0)
    outputs = _differentiable(func_out)
    places = [i for i, o in enumerate(_tensors(func_out)) if o.requires_grad]
    for j, t in enumerate(checked):
        v = _random_like(t, generator)
        v = v / v.norm().clamp_min(1e-12) if t.numel() else v
        with no_grad():
            before = t.detach().clone()
            t.data.copy_(before - v * eps)
            low = [o.detach().clone() for o in _tensors(func(*inputs))]
            t.data.copy_(before + v * eps)
            high = [o.detach().clone() for o in _tensors(func(*inputs))]
            t.data.copy_(before)
        for output, place in zip(outputs, places):
            u = _random_like(output, generator)
            g, = grad((output,), (t,), (u,), retain_graph=True, allow_unused=True)
            a = 0.0 if g is None else (g.detach() * v).sum().item()
            n = ((high[place] - low[place]) / (2 * eps) * u).sum().item()
            if not abs(a - n) <= (atol + rtol * abs(n)) * max(1.0, u.abs().sum().item()):
                raise GradcheckError(_mismatch("fast_mode=True: a projection of the Jacobian", place, j, n, a))


def _check_zeros(outputs, checked):
    """A gradient of zeros gives zeros."""
    grads = grad(outputs, checked, tuple(shunt.zeros_like(o) for o in outputs), retain_graph=True, allow_unused=True)
    if any(g is not None and bool((g != 0).any()) for g in grads):
        raise GradcheckError("gradcheck(): expected gradients of zero from a gradient of zero, got others")


def _check_undefined(outputs, checked):
    """An output without gradient counts as one whose gradient is zeros."""
    if len(outputs) < 2:
        return
    for k, output in enumerate(outputs):
        seed = shunt.ones_like(output)
        alone = grad((output,), checked, (seed,), retain_graph=True, allow_unused=True)
        seeds = tuple(seed if i == k else shunt.zeros_like(o) for i, o in enumerate(outputs))
        beside_zeros = grad(outputs, checked, seeds, retain_graph=True, allow_unused=True)
        for a, b, t in zip(alone, beside_zeros, checked):
            a, b = (shunt.zeros_like(t) if g is None else g for g in (a, b))
            if not shunt.allclose(a, b, equal_nan=True):
                raise GradcheckError(
                    "gradcheck(): expected the same gradients whether those of other outputs are None or zeros, got "
                    f"different ones for output {k}"
                )


def _run(func, inputs, eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, fast_mode):
    _check_inputs(inputs)
    checked = tuple(i for i in inputs if _is_checked(i))
    with enable_grad():
        func_out = func(*inputs)
        outputs = _differentiable(func_out)
        if not outputs:
            # Nothing to differentiate; then differences have to be zero, too.
            for j, t in enumerate(checked):
                for row in _numerical(func, inputs, t, eps):
                    if any(bool((r != 0).any()) for r in row):
                        raise GradcheckError(
                            f"gradcheck(): expected differences of zero for input {j}, as no output requires a "
                            "gradient, got others"
                        )
            return
        if any(o.is_sparse for o in outputs):
            raise ValueError("gradcheck(): expected dense outputs, got a sparse one; call to_dense() in the function")
        if fast_mode:
            _check_fast(func, func_out, inputs, checked, eps, atol, rtol)
        else:
            _check_slow(func, func_out, inputs, checked, eps, atol, rtol, nondet_tol)
        _check_zeros(outputs, checked)
        if check_undefined_grad:
            _check_undefined(outputs, checked)
        if check_grad_dtypes:
            grads = grad(outputs, checked, tuple(shunt.ones_like(o) for o in outputs), allow_unused=True)
            if any(g is not None and g.dtype != t.dtype for g, t in zip(grads, checked)):
                raise GradcheckError(f"gradcheck(): expected a gradient of dtype {t.dtype}, the input's, got another")


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0,
              check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
              check_batched_forward_grad=False, check_forward_ad=False, check_backward_ad=True, fast_mode=False,
              masked=None):
    """Whether func's gradients by autograd are those that central differences give.

    Args:
        func: takes Tensors, and whatever else `inputs` has, and returns Tensors, one or a tuple.
        inputs: a Tensor or a sequence. Those that require gradients are checked; float64 is needed for that to work.
        eps: half of the difference that is taken.
        atol, rtol: tolerances of the comparison.
        raise_exception: False: returns False instead of raising.
        nondet_tol: how far two backwards of the same may differ.
        check_undefined_grad: whether outputs without gradient have to count as those with a gradient of zeros.
        check_grad_dtypes: whether the gradients' dtypes have to be the inputs'.
        fast_mode: one random projection of the Jacobian instead of all of it.
        check_batched_grad, check_forward_ad, check_batched_forward_grad: NotImplementedError where True.

    Returns True, or False without raise_exception; raises GradcheckError, a RuntimeError, with both Jacobians, and
    ValueError where no input requires a gradient.
    """
    if check_forward_ad or check_batched_forward_grad or not check_backward_ad:
        raise NotImplementedError("gradcheck: Shunt has no forward mode to check")
    if check_batched_grad:
        raise NotImplementedError("gradcheck: check_batched_grad is not supported; check func.vmap of the gradient")
    args = (func, _as_tuple(inputs), eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, fast_mode)
    if raise_exception:
        _run(*args)
        return True
    try:
        _run(*args)
    except RuntimeError:
        return False
    return True


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
                  raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False,
                  check_batched_grad=False, check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False,
                  masked=False):
    """The same for second derivatives: gradcheck of the function that gives func's gradients.

    Args: as of gradcheck, and
        grad_outputs: the gradients of func's outputs to start from; random ones by default.
        gen_non_contig_grad_outputs: whether the random ones are non-contiguous.
    """
    if check_fwd_over_rev or not check_rev_over_rev:
        raise NotImplementedError("gradgradcheck: Shunt has no forward mode to check")
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        generator = shunt.Generator().manual_seed(0)
        seeds = []
        for o in _differentiable(func(*inputs)):
            dtype = o.dtype
            seed = shunt.rand(o.shape, generator=generator, dtype=shunt.float64).to(dtype) * 2 - 1
            if gen_non_contig_grad_outputs:
                seed = shunt.stack([seed, seed], -1)[..., 0]
            seeds.append(seed.detach().requires_grad_())
        grad_outputs = tuple(seeds)
    else:
        grad_outputs = _as_tuple(grad_outputs)
    checked = [i for i, t in enumerate(inputs) if _is_checked(t)]
    count = len(grad_outputs)

    def gradients(*args):
        given = args[:-count] if count else args
        with enable_grad():  # differences are taken without
            outputs = _differentiable(func(*given))
            wanted = tuple(given[i] for i in checked)
            grads = grad(outputs, wanted, args[-count:], create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradcheck(gradients, (*inputs, *grad_outputs), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception, nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad,
                     check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad, fast_mode=fast_mode)
