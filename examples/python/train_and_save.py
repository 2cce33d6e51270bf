"""A classifier from data to file: worker processes, a schedule, a compiled step, explain, save and load, a profile."""

import math
import pathlib
import tempfile

import shunt
from shunt import nn
from shunt.utils.data import DataLoader, TensorDataset


def spirals(count):
    """Points [2 * count, 2] of two spirals, and which spiral each belongs to."""
    angle = shunt.linspace(0.5, 2 * math.pi, count)
    arm = shunt.stack([angle * angle.cos(), angle * angle.sin()], 1) / 6
    return shunt.cat([arm, -arm]), shunt.cat([shunt.zeros(count), shunt.ones(count)]).long()


def network():
    return nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))


def accuracy(model, x, y):
    with shunt.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    shunt.manual_seed(0)
    x, y = spirals(128)
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True, num_workers=2,
                        persistent_workers=True)
    model, epochs = network(), 120
    optimizer = shunt.optim.Adam(model.parameters(), lr=shunt.tensor(0.01))  # a tensor: one graph for all rates
    schedule = shunt.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)

    @shunt.compile  # forward, backward and update run as one graph
    def step(inputs, labels):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(epochs):
        for inputs, labels in loader:
            step(inputs, labels)
        schedule.step()
    reached = accuracy(model, x, y)
    hits = step.counts()["hits"]
    print(f"accuracy {reached:.2f}, {hits} of {epochs * len(loader)} steps ran a graph")
    print(step.explain())
    assert reached > 0.9 and hits > epochs, "it learns, and most steps run the graph"

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.safetensors"
        shunt.save(model.state_dict(), file)
        other = network()
        other.load_state_dict(shunt.load(file))
    same = shunt.equal(other(x), model(x))
    print("loaded: the same predictions" if same else "loaded: other predictions")
    assert same

    with shunt.profiler.profile() as profile:
        accuracy(model, x, y)
    names = {row.key for row in profile.key_averages()}
    print("the profile has", ", ".join(sorted(names & {"aten::addmm", "aten::tanh", "aten::argmax"})))
    assert "aten::addmm" in names


if __name__ == "__main__":
    main()
