"""Modules against PyTorch's own table of modules: results, gradients and text of each that Shunt has."""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.testing._internal.common_modules import module_db  # noqa: E402

import shunt  # noqa: E402

LONG = os.environ.get("SHUNT_TEST_LONG") == "1"

ENTRIES = [info for info in module_db if getattr(shunt.nn, info.module_cls.__name__, None) is not None]


def convert(value):
    """What PyTorch's table has, as Shunt's."""
    if isinstance(value, torch.Tensor):
        found = shunt.from_numpy(value.detach().numpy().copy())
        return found.requires_grad_() if value.requires_grad else found
    if isinstance(value, torch.dtype):
        return getattr(shunt, str(value).rpartition(".")[2])
    if isinstance(value, torch.device):
        return shunt.device(str(value))
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(convert(one) for one in value)
    if isinstance(value, dict):
        return {key: convert(one) for key, one in value.items()}
    if isinstance(value, torch.nn.Module):
        raise pytest.skip.Exception("a module among the arguments")
    if callable(value) and (getattr(value, "__module__", None) or "").startswith(
        ("torch.nn.functional", "torch._C._nn")
    ):
        return getattr(shunt.nn.functional, value.__name__)
    return value


def flat(value):
    if isinstance(value, (tuple, list)):
        return [one for part in value for one in flat(part)]
    return [value] if isinstance(value, (torch.Tensor, shunt.Tensor)) else []


def assert_close(found, expected, what):
    assert tuple(found.shape) == tuple(expected.shape), what
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-9, err_msg=what)


def inputs_of(info, training):
    samples = info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=training)
    if info.name == "nn.Transformer":
        # By default it drops out, which the two packages do at different places. The table's layers don't.
        for sample in samples:
            sample.constructor_input.kwargs["dropout"] = 0.0
    return samples


def compare(info, sample, training):
    constructor, call = sample.constructor_input, sample.forward_input
    if call is None:
        return False
    torch.manual_seed(0)
    theirs = info.module_cls(*constructor.args, **constructor.kwargs).double().train(training)
    ours = (
        getattr(shunt.nn, info.module_cls.__name__)(*convert(constructor.args), **convert(constructor.kwargs))
        .double()
        .train(training)
    )
    arguments = convert(call.args), convert(call.kwargs)
    if info.name.startswith("nn.Lazy"):
        theirs(*call.args, **call.kwargs)
        ours(*arguments[0], **arguments[1])
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    ours.load_state_dict({name: convert(value) for name, value in theirs.state_dict().items()})
    expected = theirs(*call.args, **call.kwargs)
    found = ours(*arguments[0], **arguments[1])
    pairs = list(zip(flat(found), flat(expected)))
    assert len(flat(found)) == len(flat(expected))
    for place, (a, b) in enumerate(pairs):
        assert_close(a, b, f"result {place}")
    differentiable = [(a, b) for a, b in pairs if b.requires_grad]
    if differentiable:
        sum(b.sin().sum() for _, b in differentiable).backward()
        sum((a.sin().sum() for a, _ in differentiable), start=shunt.zeros((), dtype=shunt.float64)).backward()
        for (name, p), (_, q) in zip(ours.named_parameters(), theirs.named_parameters()):
            assert (p.grad is None) == (q.grad is None), name
            if q.grad is not None:
                assert_close(p.grad, q.grad, f"gradient of {name}")
        for a, b in zip(flat(list(arguments[0])), flat(list(call.args))):
            if b.requires_grad and b.grad is not None:
                assert_close(a.grad, b.grad, "gradient of an argument")
    for (name, a), (_, b) in zip(ours.named_buffers(), theirs.named_buffers()):
        assert_close(a, b, name)
    # Its name says what PyTorch's quantisation must not do.
    assert repr(ours) == repr(theirs).replace("NonDynamicallyQuantizableLinear", "Linear")
    return True


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("info", ENTRIES, ids=lambda info: info.name)
def test_a_module_is_pytorchs(info, training):
    samples = inputs_of(info, training)
    drawn = samples if LONG else samples[:: max(1, len(samples) // 6)]
    dropout = any("Dropout" in info.name or float(s.constructor_input.kwargs.get("dropout", 0) or 0) > 0 for s in drawn)
    compared = 0
    for sample in drawn:
        random = training and (
            "Dropout" in info.name
            or float(sample.constructor_input.kwargs.get("dropout", 0) or 0) > 0
        )
        compared += not random and compare(info, sample, training)
    assert compared > 0 or dropout


def test_as_many_as_ever_are_compared():
    assert len(ENTRIES) >= 114, sorted(info.name for info in ENTRIES)
