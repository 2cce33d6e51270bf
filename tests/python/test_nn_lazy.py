"""Lazy layers: before, at and after the first input."""

import copy
import pickle

import pytest

import shunt
from shunt import nn
from shunt.nn.parameter import UninitializedBuffer, UninitializedParameter

LAYERS = {
    "Linear": (lambda: nn.LazyLinear(4), (2, 3)),
    "Conv2d": (lambda: nn.LazyConv2d(4, 2, groups=2, bias=False), (1, 6, 5, 5)),
    "ConvTranspose1d": (lambda: nn.LazyConvTranspose1d(4, 2, 2), (3, 5)),
    "BatchNorm2d": (nn.LazyBatchNorm2d, (2, 3, 4, 4)),
    "InstanceNorm1d": (lambda: nn.LazyInstanceNorm1d(affine=True), (3, 8)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_the_first_input_gives_the_shapes(name):
    make, shape = LAYERS[name]
    layer, x = make(), shunt.randn(shape)
    assert layer.has_uninitialized_params() and type(layer).__name__ == f"Lazy{name}"
    twins = [copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))]
    y = layer(x)
    assert type(layer) is getattr(nn, name) and shunt.equal(layer(x), y)
    assert all(type(p) is nn.Parameter for p in layer.parameters()) and not layer._hooks.forward_pre
    for twin in twins:
        twin.load_state_dict(layer.state_dict())
        assert [p.shape for p in twin.parameters()] == [p.shape for p in layer.parameters()]
        twin(x)
        assert type(twin) is type(layer)


def test_networks_move_before_they_have_shapes():
    net = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2)).double()
    optimizer = shunt.optim.SGD(net.parameters(), lr=0.1)
    x = shunt.randn(5, 3, dtype=shunt.float64)
    net(x).sum().backward()
    before = net[0].weight.clone()
    optimizer.step()
    assert net[0].weight.dtype is shunt.float64 and net[0].in_features == 3 and not shunt.equal(net[0].weight, before)


@pytest.mark.parametrize("make", [UninitializedParameter, UninitializedBuffer])
def test_tensors_without_shapes(make):
    tensor = make(dtype=shunt.float64)
    assert tensor.dtype is shunt.float64 and "Uninitialized" in repr(tensor)
    with pytest.raises(RuntimeError, match="shape"):
        tensor.shape
    with pytest.raises(ValueError, match="uninitialized"):
        tensor + 1
    tensor.materialize((2, 3))
    assert (tensor + 1).shape == (2, 3) and tensor.requires_grad == (make is UninitializedParameter)


def test_wrong_inputs():
    with pytest.raises(RuntimeError, match="LazyConv1d"):
        nn.LazyConv1d(2, 2)(shunt.ones(3))
    with pytest.raises(ValueError, match="groups"):
        nn.LazyConv1d(2, 2, groups=2)(shunt.ones(3, 4))
