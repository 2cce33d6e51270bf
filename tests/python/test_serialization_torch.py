"""Files that PyTorch has written, and that PyTorch reads."""

import pytest

torch = pytest.importorskip("torch")

import shunt  # noqa: E402
from test_serialization import everything  # noqa: E402


def same(ours, theirs):
    assert ours.dtype is getattr(shunt, str(theirs.dtype).rpartition(".")[2])
    assert tuple(ours.shape) == tuple(theirs.shape) and tuple(ours.stride()) == tuple(theirs.stride())
    assert ours.tolist() == theirs.tolist()


def test_pytorch_reads_what_is_saved(tmp_path):
    saved = everything()
    shunt.save(saved, tmp_path / "all.pt")
    loaded = torch.load(tmp_path / "all.pt")
    assert list(loaded) == list(saved)
    for name in ("strided", "shared", "empty", "scalar", "mask", "parameter"):
        same(saved[name], loaded[name])
    assert isinstance(loaded["parameter"], torch.nn.Parameter) and loaded["dtype"] is torch.float64
    assert loaded["list"][1:] == saved["list"][1:] and loaded["size"] == torch.Size([1, 2])


def test_what_pytorch_saved_is_read(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(5, 4)).sum().backward()
    optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3,
                "half": torch.ones(2).half()},
               tmp_path / "checkpoint.pt")
    loaded = shunt.load(tmp_path / "checkpoint.pt")
    assert loaded["epoch"] == 3
    same(loaded["half"], torch.ones(2).half())
    for name, value in model.state_dict().items():
        same(loaded["model"][name], value)
    ours = shunt.nn.Sequential(shunt.nn.Linear(4, 3), shunt.nn.Tanh(), shunt.nn.BatchNorm1d(3))
    assert repr(ours.load_state_dict(loaded["model"])) == "<All keys matched successfully>"
    rest = shunt.optim.Adam(ours.parameters())
    rest.load_state_dict(loaded["optimizer"])
    x = torch.randn(5, 4)
    for module, opt, data in ((model, optimizer, x), (ours, rest, shunt.from_torch(x))):
        opt.zero_grad()
        (module(data) ** 3).sum().backward()
        opt.step()
    for p, q in zip(ours.parameters(), model.parameters()):
        assert torch.allclose(torch.tensor(p.tolist()), q, atol=1e-6)


def test_a_program_is_refused(tmp_path):
    torch.save(torch.nn.Linear(1, 1), tmp_path / "module.pt")
    with pytest.raises(shunt.serialization.UnpicklingError, match="torch.nn.modules.linear.Linear"):
        shunt.load(tmp_path / "module.pt")
    torch.save({"x": 1}, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="in the format that torch.save had before PyTorch 1.6"):
        shunt.load(tmp_path / "old.pt")
