"""Inside a PyTorch program: a training step is captured and replayed, and a model is compiled by the backend `shunt`.

    python3 examples/torch/capture.py       needs PyTorch 2.13 and the package shunt_torch; status 77 without them
"""

import sys
import time
import warnings

try:
    import torch
    import shunt_torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def make():
    """A model, and one step of its training."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, fused=True)

    def step(x, y):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return model, step


def seconds(step, x, y):
    begin = time.perf_counter()
    for _ in range(300):
        step(x, y)
    return time.perf_counter() - begin


def captured_step():
    """The same training twice, eager and captured: the same bits."""
    x, y = torch.randn(32, 16), torch.randn(32, 4)
    eager_model, eager = make()
    model, step = make()
    captured = shunt_torch.capture(step)
    times = seconds(eager, x, y), seconds(captured, x, y)
    same = all(torch.equal(a, b) for a, b in zip(eager_model.parameters(), model.parameters(), strict=True))
    print(f"300 steps: eager {times[0]:.3f} s, captured {times[1]:.3f} s")
    print("weights:", "the same bits" if same else "other bits")
    print(captured.explain().splitlines()[0])
    assert same


def refused_step():
    """A step that reads a number in the middle is run as it is, and explain() says why."""
    @shunt_torch.capture
    def halve(x):
        x.mul_(0.5)
        return x if x.sum().item() > 1 else x + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same, as a warning
        for _ in range(12):
            halve(torch.ones(4))
    reason = halve.explain()
    print(next(line.strip() for line in reason.splitlines() if "item" in line))


def compiled_model():
    """torch.compile with the backend `shunt`: any size of batch."""
    model, _ = make()
    compiled = torch.compile(model, backend="shunt")
    with torch.no_grad():
        same = all(torch.equal(compiled(x), model(x)) for x in (torch.randn(n, 16) for n in (8, 8, 8, 5, 5, 5)))
    print("torch.compile:", "the same bits" if same else "other bits")
    assert same


if __name__ == "__main__":
    captured_step()
    refused_step()
    compiled_model()
