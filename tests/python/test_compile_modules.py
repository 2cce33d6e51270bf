"""Compiled modules are modules."""

import copy

import shunt
from shunt import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = shunt.compile(nn.Linear(2, 3))
        self.head = nn.Linear(3, 1)

    def forward(self, x):
        return self.head(self.body(x).tanh())


def test_parts_of_a_module_keep_their_parameters():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == ["body._orig_mod.weight", "body._orig_mod.bias",
                                                            "head.weight", "head.bias"]
    assert net.eval() is net and not net.body._orig_mod.training
    assert isinstance(net.body, nn.Module) and net.body.in_features == 2
    assert len(nn.Sequential(shunt.compile(nn.ReLU()), nn.Linear(1, 1))) == 2


def test_a_compiled_part_is_trained():
    shunt.manual_seed(1)
    net = Net()
    plain = nn.Sequential(copy.deepcopy(net.body._orig_mod), nn.Tanh(), copy.deepcopy(net.head))
    x = shunt.linspace(-1, 1, 8).view(4, 2)
    for module in (net, plain):
        optimizer = shunt.optim.SGD(module.parameters(), lr=0.1)
        for _ in range(6):
            optimizer.zero_grad()
            (module(x) ** 2).mean().backward()
            optimizer.step()
    assert net(x).tolist() == plain(x).tolist()
    assert net.body.weight.tolist() == plain[0].weight.tolist()


def test_a_copy_is_another_module():
    net = Net()
    other = copy.deepcopy(net)
    assert other.body.weight is not net.body.weight
    assert other(shunt.ones(1, 2)).tolist() == net(shunt.ones(1, 2)).tolist()
    other.load_state_dict(net.state_dict())
