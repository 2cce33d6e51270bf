"""Tensors in files: safetensors, NumPy's archives, PyTorch's archives, a checkpoint, and files that are damaged."""

import os
import pathlib
import tempfile

import shunt


def refused(call, *arguments, **options):
    """The message of the error that a call raises."""
    try:
        call(*arguments, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("expected an error")


class Command:
    """An object whose pickle runs a command when it is loaded."""

    def __reduce__(self):
        return os.system, ("echo the file ran a command",)


def main(folder):
    weights = {"w": shunt.randn(4, 3), "b": shunt.arange(4).to(shunt.int16)}
    for name in ("weights.safetensors", "weights.npz", "weights.pt"):
        shunt.save(weights, folder / name)
        loaded = shunt.load(folder / name)
        same = all(shunt.equal(loaded[key], t) and loaded[key].dtype is t.dtype for key, t in weights.items())
        print(f"{name}: {'the same tensors' if same else 'other tensors'}")
        assert same

    # A checkpoint holds more than tensors: PyTorch's archive format keeps the structure.
    model = shunt.nn.Linear(3, 1)
    optimizer = shunt.optim.Adam(model.parameters(), lr=0.1)
    model(shunt.ones(2, 3)).sum().backward()
    optimizer.step()
    shunt.save({"epoch": 3, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, folder / "checkpoint.pt")
    checkpoint = shunt.load(folder / "checkpoint.pt")
    other = shunt.nn.Linear(3, 1)
    resumed = shunt.optim.Adam(other.parameters(), lr=0.1)
    other.load_state_dict(checkpoint["model"])
    resumed.load_state_dict(checkpoint["optimizer"])
    for m, o in ((model, optimizer), (other, resumed)):
        o.zero_grad()
        m(shunt.ones(2, 3)).sum().backward()
        o.step()
    print("resumed after epoch", checkpoint["epoch"], "with the same bits:", shunt.equal(model.weight, other.weight))
    assert shunt.equal(model.weight, other.weight)

    # Files need not be trusted.
    whole = (folder / "weights.safetensors").read_bytes()
    (folder / "short.safetensors").write_bytes(whole[:-8])
    print("truncated:", refused(shunt.load, folder / "short.safetensors").replace(f"{folder}/", ""))
    shunt.save({"weights": Command()}, folder / "evil.pt")
    print("with a command in it:", refused(shunt.load, folder / "evil.pt"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(pathlib.Path(name))
