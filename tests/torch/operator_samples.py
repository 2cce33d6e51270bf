"""PyTorch's table of operators as judges take it: entries, drawn samples, and steps on them."""

import itertools
import operator
import random

import numpy
import torch
import torch.testing._internal.common_methods_invocations as methods
from torch.utils._pytree import tree_leaves

import copying

# It seeds the generator inside of operators that draw; here the generator is set before each call.
methods.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)

_SAMPLES = 400 if copying.ALL else 50  # that are looked at of an entry
# Slots of C classes that no recorder can put anything before; the syntax that calls them is what is tested.
_SYNTAX = {"__getitem__": operator.getitem}


def _name(op):
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def dtype_of(op):
    dtypes = sorted(op.supported_dtypes("cpu"), key=str)
    return torch.float32 if torch.float32 in dtypes else dtypes[0] if dtypes else None


ENTRIES = {_name(op): op for op in methods.op_db if dtype_of(op) is not None and not op.name.startswith("jiterator")}
IN_PLACE = [name for name, op in ENTRIES.items() if op.inplace_variant is not None]


def is_differentiable(op):
    return op.supports_autograd and dtype_of(op).is_floating_point


def function_of(op):
    return _SYNTAX.get(op.name, op.op)


def samples_of(op, seed, dtype=None, requires_grad=None):
    """An entry's samples, by default of the dtype that is judged first, requiring grad where that is possible."""
    dtype = dtype_of(op) if dtype is None else dtype
    requires_grad = is_differentiable(op) if requires_grad is None else requires_grad
    copying.set_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)
    samples = op.sample_inputs("cpu", dtype, requires_grad=requires_grad, set_seed=False)
    return list(itertools.islice(samples, _SAMPLES))


def drawn(name, samples, count=2):
    """Which of an entry's samples are judged."""
    return range(len(samples)) if copying.ALL else sorted(random.Random(name).sample(range(len(samples)), min(count, len(samples))))


def inputs_of(sample):
    return (sample.input, *sample.args), dict(sample.kwargs)


def forward(function, _):
    def step(args, kwargs, cotangents):
        with torch.no_grad():
            return function(*args, **kwargs)
    return step


def gradients(function, chosen):
    def step(args, kwargs, cotangents):
        out = function(*args, **kwargs)
        torch.autograd.backward([t for t in tree_leaves(chosen(out)) if isinstance(t, torch.Tensor) and t.requires_grad], cotangents)
        return [t.detach() if isinstance(t, torch.Tensor) else t for t in tree_leaves(out)]
    return step


def _cotangents(function, chosen, args, kwargs, seed):
    args, kwargs = copying.copy_of((args, kwargs))
    out = [t for t in copying.tensors_of(chosen(function(*args, **kwargs))) if t.requires_grad]
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(t.shape, dtype=t.dtype, generator=generator) for t in out]


def step_and_calls(make, function, samples):
    """A step, forward or with gradients, and its arguments of each sample; None where there is nothing to judge: eager code raises."""
    calls = []
    chosen = samples[0].output_process_fn_grad
    step = make(function, chosen)
    try:
        for i, (args, kwargs) in enumerate(map(inputs_of, samples)):
            cotangents = _cotangents(function, chosen, args, kwargs, i) if make is gradients else []
            if make is gradients and not cotangents:
                return None
            calls.append((args, kwargs, cotangents))
            step(*copying.copy_of(calls[-1]))
    except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError):
        return None
    return step, calls
