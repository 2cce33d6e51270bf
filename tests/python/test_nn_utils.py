"""nn.utils and nn.init against PyTorch: parametrizations, norms of weights, clipping, initial values."""

import copy
import math

import numpy as np
import pytest

pytest.importorskip("torch")
import torch  # noqa: E402

import shunt  # noqa: E402
from shunt import nn  # noqa: E402
from compiling import hits  # noqa: E402
from shunt.nn.utils import parametrizations, parametrize  # noqa: E402


def close(a, b, tolerance=1e-10):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)


def load(ours, theirs):
    state = {key: shunt.from_numpy(value.numpy().copy()) for key, value in theirs.state_dict().items()}
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict(state)


LAYERS = {
    "Linear": lambda m: m.nn.Linear(3, 4).double(),
    "wide": lambda m: m.nn.Linear(5, 2).double(),
    "square": lambda m: m.nn.Linear(3, 3).double(),
    "Conv2d": lambda m: m.nn.Conv2d(3, 2, 2).double(),
    "ConvTranspose1d": lambda m: m.nn.ConvTranspose1d(3, 2, 2).double(),
}
INPUTS = {"Linear": (2, 3), "wide": (2, 5), "square": (2, 3), "Conv2d": (2, 3, 4, 4), "ConvTranspose1d": (2, 3, 4)}


def compare(ours, theirs, layer, steps=2):
    values = np.random.default_rng(0).standard_normal(INPUTS[layer])
    for _ in range(steps):
        ours.zero_grad(), theirs.zero_grad()
        a, b = ours(shunt.from_numpy(values.copy())), theirs(torch.from_numpy(values.copy()))
        close(a, b)
        a.sin().sum().backward()
        b.sin().sum().backward()
        for (name, p), (other, q) in zip(ours.named_parameters(), theirs.named_parameters()):
            assert name == other
            close(p.grad, q.grad)
    for p, q in zip(ours.buffers(), theirs.buffers()):
        close(p, q)
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("settings", [{}, {"dim": 1}, {"dim": None}], ids=str)
@pytest.mark.parametrize("where", ["parametrizations", "utils"])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_weight_norm(layer, settings, where):
    ours, theirs = (
        getattr(m.nn.utils, "parametrizations", None) if where == "parametrizations" else m.nn.utils
        for m in (shunt, torch)
    )
    a, b = ours.weight_norm(LAYERS[layer](shunt), **settings), theirs.weight_norm(LAYERS[layer](torch), **settings)
    load(a, b)
    compare(a, b, layer)
    if where == "utils":
        x = shunt.from_numpy(np.ones(INPUTS[layer]))
        before = a(x)
        nn.utils.remove_weight_norm(a)
        close(a(x), before)
        assert [name for name, _ in a.named_parameters()] == ["bias", "weight"] and a._hooks.forward_pre == {}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("where", ["parametrizations", "utils"])
def test_spectral_norm(layer, where):
    ours, theirs = (m.nn.utils.parametrizations if where == "parametrizations" else m.nn.utils for m in (shunt, torch))
    a, b = ours.spectral_norm(LAYERS[layer](shunt)), theirs.spectral_norm(LAYERS[layer](torch))
    load(a, b)
    compare(a, b, layer)
    a.eval(), b.eval()
    compare(a, b, layer)
    if where == "utils":
        nn.utils.remove_spectral_norm(a)
        assert [name for name, _ in a.named_parameters()] == ["bias", "weight"]


@pytest.mark.parametrize("layer", ["Linear", "wide", "square"])
@pytest.mark.parametrize("orthogonal_map", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal(layer, orthogonal_map, trivial):
    a, b = (
        m.nn.utils.parametrizations.orthogonal(
            LAYERS[layer](m), orthogonal_map=orthogonal_map, use_trivialization=trivial
        )
        for m in (shunt, torch)
    )
    load(a, b)
    if trivial:
        # At the base the maps' gradients differ from zero only where they should.
        with shunt.no_grad(), torch.no_grad():
            original = a.parametrizations.weight.original
            noise = np.random.default_rng(1).standard_normal(tuple(original.shape)) * 0.1
            if a.parametrizations.weight[0].orthogonal_map == "householder":
                noise = np.tril(noise, -1) if noise.shape[0] >= noise.shape[1] else np.triu(noise, 1)
            original.add_(shunt.from_numpy(noise))
            b.parametrizations.weight.original.add_(torch.from_numpy(noise))
    compare(a, b, layer, steps=1)
    w = a.weight if a.weight.size(0) <= a.weight.size(1) else a.weight.t()
    close(w @ w.t(), shunt.eye(w.size(0), dtype=shunt.float64))
    target = nn.init.orthogonal_(shunt.empty(a.weight.shape, dtype=shunt.float64))
    if trivial or a.parametrizations.weight[0].orthogonal_map == "householder":
        a.weight = target
        close(a.weight, target)
    else:
        with pytest.raises(NotImplementedError):
            a.weight = target


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, x):
        return x / 2


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).t()


def test_parametrizations_are_registered_and_removed():
    layer = nn.Linear(3, 3)
    cls, weight, before = type(layer), layer.weight, layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert parametrize.is_parametrized(layer) and parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias") and isinstance(layer, cls)
    assert layer.parametrizations.weight.original is weight and shunt.equal(layer.weight, before)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert shunt.equal(layer.weight, layer.weight.t())
    with pytest.raises(RuntimeError, match="right_inverse"):
        layer.weight = before
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight
    twin = copy.deepcopy(layer)
    assert shunt.equal(twin.weight, layer.weight) and twin.parametrizations.weight.original is not weight
    other = nn.Linear(3, 3)
    parametrize.transfer_parametrizations_and_params(layer, other)
    assert shunt.equal(other.weight, layer.weight)
    assert parametrize.type_before_parametrizations(layer) is cls
    now = layer.weight.detach().clone()
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is cls and layer.weight is weight and shunt.equal(layer.weight, now)


def test_a_compiled_parametrized_module():
    layer = parametrizations.weight_norm(nn.Linear(3, 2))
    f, x = shunt.compile(lambda x: layer(x).tanh()), shunt.randn(4, 3)
    for _ in range(5):
        assert shunt.equal(f(x), layer(x).tanh())
        with shunt.no_grad():
            layer.parametrizations.weight.original0.mul_(1.5)
    assert hits(f) >= 2


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: parametrize.register_parametrization(nn.Linear(2, 2), "wait", Doubled()), ValueError),
        (lambda: parametrize.register_parametrization(nn.Linear(2, 3), "weight", nn.Flatten(0)), ValueError),
        (lambda: parametrize.remove_parametrizations(nn.Linear(2, 2), "weight"), ValueError),
        (lambda: parametrizations.orthogonal(nn.Linear(2, 2), "bias"), ValueError),
        (lambda: parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="x"), ValueError),
        (lambda: parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0), ValueError),
        (lambda: nn.utils.remove_weight_norm(nn.Linear(2, 2)), ValueError),
        (lambda: nn.init.orthogonal_(shunt.ones(2)), ValueError),
        (lambda: nn.init.dirac_(shunt.ones(2, 2)), ValueError),
        (lambda: nn.init.sparse_(shunt.ones(2), 0.5), ValueError),
        (lambda: nn.utils.skip_init(int), (RuntimeError, TypeError)),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5), (4, 2, 3)])
def test_orthogonal_values(shape):
    x = nn.init.orthogonal_(shunt.empty(shape, dtype=shunt.float64), gain=2.0)
    rows = x.reshape(shape[0], -1)
    rows = rows if rows.size(0) <= rows.size(1) else rows.t()
    close(rows @ rows.t(), 4 * shunt.eye(rows.size(0), dtype=shunt.float64))


@pytest.mark.parametrize("shape, groups", [((3, 3, 3), 1), ((4, 2, 3, 3), 2), ((2, 4, 2, 2, 2), 1)])
def test_dirac(shape, groups):
    assert (
        nn.init.dirac_(shunt.empty(shape), groups).tolist() == torch.nn.init.dirac_(torch.empty(shape), groups).tolist()
    )


def test_sparse_and_truncated_values():
    x = nn.init.sparse_(shunt.empty(10, 4), 0.25)
    assert [(column == 0).sum().item() for column in x.t()] == [math.ceil(2.5)] * 4
    x = nn.init.trunc_normal_(shunt.empty(20000, dtype=shunt.float64), 1.0, 2.0, 0.0, 2.5)
    assert 0.0 <= x.min().item() and x.max().item() <= 2.5
    reference = torch.nn.init.trunc_normal_(torch.empty(20000, dtype=torch.float64), 1.0, 2.0, 0.0, 2.5)
    assert x.mean().item() == pytest.approx(reference.mean().item(), abs=0.03)
    assert x.std().item() == pytest.approx(reference.std().item(), abs=0.03)


def test_clipping_and_vectors():
    p = nn.Parameter(shunt.tensor([3.0, 4.0]))
    p.grad = shunt.tensor([6.0, 8.0])
    total = nn.utils.get_total_norm([p.grad])
    nn.utils.clip_grads_with_norm_([p], 5.0, total)
    assert p.grad.tolist() == pytest.approx([3.0, 4.0], rel=1e-5)
    nn.utils.clip_grad_value_(p, 3.5)
    assert p.grad.tolist() == pytest.approx([3.0, 3.5], rel=1e-5)
    layer = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    nn.utils.vector_to_parameters(vector * 2, layer.parameters())
    assert shunt.equal(nn.utils.parameters_to_vector(layer.parameters()), vector * 2)


def test_modules_without_initial_values():
    layer = nn.utils.skip_init(nn.Linear, 3, 2, dtype=shunt.float64)
    assert layer.weight.shape == (2, 3) and layer.weight.dtype is shunt.float64 and layer.weight.device.type == "cpu"
