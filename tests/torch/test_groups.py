"""What groups of fused operators become: loops over elements, native once they are hot, also of updates in place."""

import time

import pytest
import torch
from capturing import regression
from torch import nn

from shunt_torch import capture


def trained(optimizer, numerics="exact", width=16):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
    step = regression(model, optimizer(model.parameters()))
    return model, capture(step, check="never", numerics=numerics), step


def run_until_native(step, x, y):
    """Calls it until no loop waits for its native code; returns the groups."""
    end = time.monotonic() + 60
    while True:
        for _ in range(200):
            step(x, y)
        groups = step._recordings[0].groups()
        waiting = [g for g in groups if "interpreted\n" in g or "being compiled" in g]
        if not waiting or time.monotonic() > end:
            return groups
        time.sleep(0.05)


@pytest.mark.parametrize("options", [{"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}], ids=["momentum", "nesterov"])
def test_updates_of_parameters_of_one_size_are_one_native_loop(options):
    _, step, _ = trained(lambda p: torch.optim.SGD(p, lr=0.01, **options))
    x, y = torch.randn(8, 16), torch.randn(8, 16)
    groups = run_until_native(step, x, y)
    update = groups[-1]
    # Two sizes: weights and biases, of both layers.
    assert "in all 2 regions, 0 calls" in update, update
    assert update.count("native (") + update.count("native code is slower") == 2, update


def test_native_updates_have_eagers_bits():
    model, step, _ = trained(lambda p: torch.optim.SGD(p, lr=0.013, momentum=0.9, weight_decay=0.1))
    eager, _, eager_step = trained(lambda p: torch.optim.SGD(p, lr=0.013, momentum=0.9, weight_decay=0.1))
    x, y = torch.randn(8, 16), torch.randn(8, 16)
    run_until_native(step, x, y)
    for _ in range(3 + step._recordings[0].runs):
        eager_step(x, y)
    for a, b in zip(model.parameters(), eager.parameters()):
        assert torch.equal(a, b) and torch.equal(a.grad, b.grad)
