"""A program written for PyTorch. Shunt runs it unchanged:

    python3 -m shunt examples/python/torch_program.py
"""

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 64).unsqueeze(1)
    y = (3 * x).sin()
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    first = last = None
    for _ in range(300):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        first, last = first or loss.item(), loss.item()
    print("run by", torch.ones(1).__class__.__module__.partition(".")[0])
    print("the loss falls" if last < first / 20 else f"the loss is {last}, from {first}")
    return 0 if last < first / 20 else 1


if __name__ == "__main__":
    raise SystemExit(main())
