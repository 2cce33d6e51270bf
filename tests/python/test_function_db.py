"""PyTorch's own table of custom functions (autograd_function_db), its programs run with Shunt's names."""

import functools
import pathlib
import sys
import types

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")
pytest.importorskip("expecttest")

import shunt  # noqa: E402
from torch.testing._internal import autograd_function_db as db  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent / "opinfo"))
from crossing import to_shunt, to_torch  # noqa: E402


def entries_of_shunt():
    """The table, made by its source with `torch` answered by Shunt."""
    source = pathlib.Path(db.__file__).read_text()
    source = source[source.index("def to_numpy"):]
    names = {"torch": shunt, "np": np, "partial": functools.partial, "make_tensor": None, "SampleInput": None,
             "all_types_and": lambda *types: types,
             "OpInfo": lambda name, **entry: types.SimpleNamespace(name=name, **entry)}
    exec(compile(source, db.__file__, "exec"), names)
    return {e.name: e for e in names["autograd_function_db"]}


ENTRIES = entries_of_shunt()
THEIRS = {e.name: e for e in db.autograd_function_db}


def test_the_table_is_whole():
    assert ENTRIES.keys() == THEIRS.keys() and len(ENTRIES) >= 14


def crossed(sample):
    return types.SimpleNamespace(input=to_shunt(sample.input), args=to_shunt(sample.args),
                                 kwargs=to_shunt(sample.kwargs))


def first(results):
    return results if not isinstance(results, tuple) else results[0]


def derivatives(lib, op, sample):
    """The results, and first and second gradients of all inputs."""
    arguments = (sample.input, *sample.args)
    inputs = [a for a in arguments if isinstance(a, lib.Tensor) and a.requires_grad]
    results = op(*arguments, **sample.kwargs)
    tensors = list(results) if isinstance(results, tuple) else [results]
    values = [t.detach() for t in tensors]
    outputs = [t for t in tensors if t.requires_grad]
    weights = [lib.linspace(0.5, 1.5, t.numel(), dtype=t.dtype).reshape(t.shape) for t in outputs]
    grads = lib.autograd.grad(outputs, inputs, weights, create_graph=True, allow_unused=True)
    values += [None if g is None else g.detach() for g in grads]
    chosen = [g for g in grads if g is not None and g.requires_grad]
    if chosen:
        values += lib.autograd.grad([(g * g).sum() for g in chosen], inputs, allow_unused=True)
    return values


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", sorted(THEIRS))
def test_entry(name, dtype):
    entry = THEIRS[name]
    for sample in entry.sample_inputs("cpu", dtype, requires_grad=True):
        given = crossed(sample)
        expected = derivatives(torch, entry.op, sample)
        got = derivatives(shunt, ENTRIES[name].op, given)
        assert [e is None for e in expected] == [g is None for g in got]
        for e, g in zip(expected, got):
            if e is not None:
                torch.testing.assert_close(to_torch(g), e)


# What gradcheck finds wrong, by words of PyTorch's messages or Shunt's.
KINDS = {
    "Jacobian": "other gradients than differences",
    "once_differentiable": "differentiated twice",
    "not multiplied by grad_output": "not zero for zero",
    "gradients of zero from": "not zero for zero",
}


def verdicts(lib, op, sample):
    """What gradcheck and gradgradcheck say of the first result."""
    arguments = (sample.input, *sample.args)
    checked = [i for i, a in enumerate(arguments) if isinstance(a, lib.Tensor) and a.requires_grad]

    def function(*inputs):
        given = list(arguments)
        for i, t in zip(checked, inputs):
            given[i] = t
        return first(op(*given, **sample.kwargs))

    inputs = [arguments[i] for i in checked]
    found = []
    for check in (lib.autograd.gradcheck, lib.autograd.gradgradcheck):
        try:
            found.append(check(function, inputs))
        except RuntimeError as error:
            found.append(next((kind for words, kind in KINDS.items() if words in str(error)), str(error)))
    return found


@pytest.mark.parametrize("name", sorted(THEIRS))
def test_gradcheck(name):
    entry = THEIRS[name]
    for sample in entry.sample_inputs("cpu", torch.float64, requires_grad=True):
        given = crossed(sample)
        assert verdicts(shunt, ENTRIES[name].op, given) == verdicts(torch, entry.op, sample)
