"""Fast mode's fused updates of optimisers: as close to float64 as PyTorch's, and taken."""

import pytest
import torch
from capturing import regression
from torch import nn

from shunt_torch import capture

OPTIMIZERS = {
    "Adam": lambda p: torch.optim.Adam(p, lr=1e-2, fused=True),
    "Adam with weight decay": lambda p: torch.optim.Adam(p, lr=1e-2, weight_decay=0.1, fused=True),
    "Adam that maximizes": lambda p: torch.optim.Adam(p, lr=1e-3, maximize=True, fused=True),
    "Adam with a tensor": lambda p: torch.optim.Adam(p, lr=torch.tensor(1e-2), fused=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=1e-2, betas=(0.8, 0.99), fused=True),
    "AdamW with a tensor": lambda p: torch.optim.AdamW(p, lr=torch.tensor(1e-2), fused=True),
    "SGD": lambda p: torch.optim.SGD(p, lr=1e-2, fused=True),
    "SGD with momentum": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, dampening=0.1, weight_decay=0.1, fused=True),
    "SGD of Nesterov": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True, fused=True),
}


def training(name, dtype):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3)).to(dtype)
    update = OPTIMIZERS[name](model.parameters())
    return model, update, regression(model, update)


def fused(captured):
    return [name for place, name, _ in captured._recordings[0].describe() if place == "fused"]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates_are_no_further_from_float64_than_twice_eagers(name):
    exact, _, exact_step = training(name, torch.float64)
    eager, eager_update, eager_step = training(name, torch.float32)
    model, update, step = training(name, torch.float32)
    captured = capture(step, numerics="fast", check="never")
    checked = capture(training(name, torch.float32)[2], numerics="fast", check="always")
    generator = torch.Generator().manual_seed(4)
    for _ in range(20):
        x, y = torch.randn(32, 6, generator=generator), torch.randn(32, 3, generator=generator)
        exact_step(x.double(), y.double()), eager_step(x, y), captured(x, y), checked(x, y)
    assert any(n.startswith("aten::_fused_") for n in fused(captured)), captured.explain()
    assert captured._recordings[0].runs == checked._recordings[0].runs == 17

    def distance(of):
        return max((p.double() - q).norm().item() for p, q in zip(of.parameters(), exact.parameters()))

    assert distance(model) <= 2 * distance(eager)
    for p, q in zip(model.parameters(), eager.parameters()):
        mine, theirs = update.state[p], eager_update.state[q]
        assert mine.keys() == theirs.keys()
        for key in mine:
            if isinstance(mine[key], torch.Tensor):
                torch.testing.assert_close(mine[key], theirs[key], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("options", [{"amsgrad": True}], ids=["amsgrad"])
def test_others_are_left_to_pytorch(options):
    OPTIMIZERS["other"] = lambda p: torch.optim.Adam(p, lr=1e-2, fused=True, **options)
    try:
        _, _, step = training("other", torch.float32)
    finally:
        del OPTIMIZERS["other"]
    captured = capture(step, numerics="fast", check="always")
    for _ in range(6):
        captured(torch.randn(4, 6), torch.randn(4, 3))
    assert "aten::_fused_adam_" not in fused(captured) and captured._recordings[0].runs == 3
