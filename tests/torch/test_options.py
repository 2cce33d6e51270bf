"""Options of capture(), switching it off, reset() and copies."""

import os
import subprocess
import sys

import pytest
import shunt_torch
import torch
from capturing import bits, recordings


def doubled(x):
    return x * 2


@pytest.mark.parametrize("value", ["0", "off", "False"])
def test_switched_off(value):
    program = """
import torch, shunt_torch
step = shunt_torch.capture(lambda x: x * 2)
print([step(torch.ones(1)).item() for _ in range(6)], len(step._recordings))
"""
    environment = {**os.environ, "SHUNT_TORCH": value}
    out = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True).stdout
    assert out.strip() == "[2.0, 2.0, 2.0, 2.0, 2.0, 2.0] 0"


def test_options():
    for wrong in ({"numerics": "nearly"}, {"check": "often"}, {"hooks": "maybe"}, {"max_recordings": 0}, {"max_recordings": 1.5}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            shunt_torch.capture(doubled, **wrong)
    with pytest.raises(TypeError, match="expected a function"):
        shunt_torch.capture(3)


def test_reset():
    captured = shunt_torch.capture(doubled)
    for _ in range(6):
        captured(torch.ones(2))
    assert recordings(captured) == 1
    captured.reset()
    assert recordings(captured) == 0 and "not recorded yet" in captured.explain()
    for _ in range(6):
        captured(torch.ones(2))
    assert recordings(captured) == 1


def test_copies():
    import copy
    import pickle

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(2, 2)
            self.run = shunt_torch.capture(self.fc.forward)

        @shunt_torch.capture
        def forward(self, x):
            return self.fc(x).detach()

    model = Model()
    x = torch.ones(2)
    for _ in range(5):
        model(x)
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.fc.weight.zero_(), other.fc.bias.zero_()
    assert other(x).tolist() == [0, 0] and other.run(x).tolist() == [0, 0] and bits(model(x)) != bits(other(x))
    assert pickle.loads(pickle.dumps(pickled)) is pickled


@shunt_torch.capture
def pickled(x):
    return x
