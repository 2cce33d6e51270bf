"""save and load: files of Shunt's, of PyTorch's and of NumPy's; what a hostile file can do."""

import errno
import io
import os
import pickle
import stat
import zipfile
from collections import OrderedDict

import pytest

import shunt


def everything():
    base = shunt.arange(6.0)
    return {
        "weights": OrderedDict(a=shunt.randn(2, 3), b=shunt.tensor([1, 2], dtype=shunt.int64)),
        "list": [shunt.ones(2, dtype=shunt.bfloat16), 1, 2.5, None, "text", (True, b"bytes")],
        "strided": base.view(2, 3).t(), "shared": base[2:], "empty": shunt.empty(0, 3), "scalar": shunt.tensor(3.0),
        "mask": shunt.tensor([True, False]), "dtype": shunt.float64, "size": shunt.Size([1, 2]), "set": {1, 2},
        "parameter": shunt.nn.Parameter(shunt.ones(2)), "recorded": shunt.ones(2, requires_grad=True),
        "device": shunt.device("cpu"),
    }


def assert_same(a, b):
    if isinstance(a, shunt.Tensor):
        assert a.dtype is b.dtype and a.shape == b.shape and a.stride() == b.stride() and a.tolist() == b.tolist()
        assert type(a) is type(b) and a.requires_grad == b.requires_grad
    elif isinstance(a, dict):
        assert list(a) == list(b) and type(a) is type(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert type(a) is type(b) and len(a) == len(b)
        for x, y in zip(a, b):
            assert_same(x, y)
    else:
        assert a == b and type(a) is type(b)


def test_everything_comes_back(tmp_path):
    saved = everything()
    shunt.save(saved, tmp_path / "all.pt")
    assert_same(saved, shunt.load(tmp_path / "all.pt"))
    buffer = io.BytesIO()
    shunt.save(saved, buffer)
    buffer.seek(0)
    assert_same(saved, shunt.load(buffer))


def test_tensors_that_share_memory_share_it_again(tmp_path):
    base = shunt.zeros(4)
    shunt.save([base, base[1:]], tmp_path / "shared.pt")
    a, b = shunt.load(tmp_path / "shared.pt")
    b.fill_(5)
    assert a.tolist() == [0.0, 5.0, 5.0, 5.0]


@pytest.mark.parametrize("suffix", ["safetensors", "npz"])
def test_other_kinds_of_files(tmp_path, suffix):
    state = shunt.nn.Linear(3, 2).state_dict()
    path = str(tmp_path / f"state.{suffix}")
    shunt.save(state, path)
    loaded = shunt.load(path)
    assert {name: t.tolist() for name, t in loaded.items()} == {name: t.tolist() for name, t in state.items()}
    with pytest.raises(TypeError, match="'x' must be Tensor"):
        shunt.save({"x": 1}, path)
    with pytest.raises(TypeError, match="dict of tensors"):
        shunt.save([shunt.ones(1)], path)


def test_a_training_goes_on(tmp_path):
    def make():
        shunt.manual_seed(3)
        model = shunt.nn.Sequential(shunt.nn.Linear(4, 8), shunt.nn.Tanh(), shunt.nn.Linear(8, 1))
        return model, shunt.optim.Adam(model.parameters(), lr=0.01)

    def train(model, optimizer, steps):
        x = shunt.linspace(-1, 1, 32).view(8, 4)
        for _ in range(steps):
            optimizer.zero_grad()
            (model(x) ** 2).mean().backward()
            optimizer.step()

    whole, first = make(), make()
    train(*whole, 10)
    train(*first, 5)
    shunt.save({"model": first[0].state_dict(), "optimizer": first[1].state_dict()}, tmp_path / "checkpoint.pt")
    second = make()
    saved = shunt.load(tmp_path / "checkpoint.pt")
    second[0].load_state_dict(saved["model"])
    second[1].load_state_dict(saved["optimizer"])
    train(*second, 5)
    for p, q in zip(whole[0].parameters(), second[0].parameters()):
        assert p.tolist() == q.tolist()


class Harmless:
    pass


def test_objects_of_other_classes_are_refused_unless_they_are_allowed():
    saved = Harmless()
    saved.weights, saved.module = shunt.ones(2), shunt.nn.Sequential(shunt.nn.Linear(2, 2), shunt.nn.ReLU())
    file = io.BytesIO()
    shunt.save([saved], file)
    classes = [Harmless, shunt.nn.Sequential, shunt.nn.Linear, shunt.nn.ReLU]
    for given in ([], classes[:3]):
        file.seek(0)
        refused = "Harmless" if not given else "ReLU"
        with shunt.serialization.safe_globals(given):
            with pytest.raises(shunt.serialization.UnpicklingError, match=rf"asks for .*{refused}.*add_safe_globals"):
                shunt.load(file)
    assert shunt.serialization.get_safe_globals() == []
    x = shunt.randn(3, 2)
    file.seek(0)
    with shunt.serialization.safe_globals(classes):
        (loaded,) = shunt.load(file)
    file.seek(0)
    (trusted,) = shunt.load(file, weights_only=False)
    for one in (loaded, trusted):
        assert type(one) is Harmless and one.weights.tolist() == [1.0, 1.0]
        assert one.module(x).tolist() == saved.module(x).tolist()
    with pytest.raises(TypeError, match="expected a class or function, got int"):
        shunt.serialization.add_safe_globals([1])


def test_a_name_that_files_have_for_a_class():
    file = io.BytesIO()
    shunt.save(Harmless(), file)
    file.seek(0)
    with shunt.serialization.safe_globals([(dict, f"{Harmless.__module__}.Harmless")]):
        assert shunt.load(file) == {}


def test_what_cant_be_saved():
    with pytest.raises(pickle.PicklingError, match="lambda"):
        shunt.save(lambda: 0, io.BytesIO())
    with pytest.raises(TypeError, match="meta"):
        shunt.save(shunt.empty(2, device="meta"), io.BytesIO())


def test_a_failed_save_leaves_the_file(tmp_path):
    path = tmp_path / "state.pt"
    shunt.save({"x": 1}, path)
    with pytest.raises(pickle.PicklingError):
        shunt.save({"x": lambda: 0}, path)
    assert shunt.load(path) == {"x": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["state.pt"]
    with pytest.raises(RuntimeError, match="can't write"):
        shunt.save({}, str(tmp_path / "no" / "such" / "folder.pt"))


def test_only_files_are_replaced(tmp_path):
    """A rename would put a file in the place of /dev/null, for every program of the machine."""
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        shunt.save({"x": 1}, pipe)
        assert stat.S_ISFIFO(os.stat(pipe).st_mode)
        assert shunt.load(io.BytesIO(os.read(reader, 1 << 16))) == {"x": 1}
    finally:
        os.close(reader)
    link = tmp_path / "link"
    link.symlink_to("state.pt")
    shunt.save({"x": 2}, link)
    assert link.is_symlink() and shunt.load(tmp_path / "state.pt") == {"x": 2}
    with pytest.raises(RuntimeError, match=f"can't write {tmp_path}: it is a directory"):
        shunt.save({}, tmp_path)


def archive_of(data, **entries):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        for name, value in entries.items():
            archive.writestr("archive/" + name.replace("__", "/"), value)
    buffer.seek(0)
    return buffer


class Evil:
    def __reduce__(self):
        return eval, ("open('/tmp/shunt_evil', 'w')",)


@pytest.mark.parametrize("data", [pickle.dumps(Evil(), 2), pickle.dumps({"x": [Evil()]}, 4),
                                  b"cos\nsystem\n(S'true'\ntR.",
                                  b"cshunt\nload\n(S'x'\ntR.", b"c__builtin__\neval\n(S'1'\ntR."])
def test_nothing_of_a_file_is_run(data):
    with pytest.raises(shunt.serialization.UnpicklingError, match="the file asks for"):
        shunt.load(archive_of(data))


@pytest.mark.parametrize("data", [b"ctorch\nFloatStorage\n}S'dtype'\nctorch\nint32\nsb.",
                                  b"ctorch._utils\n_rebuild_tensor_v2\n}S'__defaults__'\n)sb."])
def test_a_file_changes_nothing_for_others(data):
    with pytest.raises(shunt.serialization.UnpicklingError, match="a state for an object"):
        shunt.load(archive_of(data))
    assert shunt.load(archive_of(tensor_of(4, 1, 3, 1), data__0=b"\0" * 16)).dtype is shunt.float32


def test_a_bomb_is_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", tensor_of(4, 1, 3, 1), zipfile.ZIP_STORED)
        archive.writestr("archive/data/0", b"\0" * 10**7)
    buffer.seek(0)
    with pytest.raises(RuntimeError, match="compressed"):
        shunt.load(buffer)


STORAGE = b"((S'storage'\nctorch\nFloatStorage\nS'0'\nS'cpu'\nI%d\ntQ"


def tensor_of(count, offset, size, stride):
    return (b"ctorch._utils\n_rebuild_tensor_v2\n" + STORAGE % count + f"I{offset}\n(I{size}\nt(I{stride}\nt".encode()
            + b"I00\nccollections\nOrderedDict\n)RtR.")


@pytest.mark.parametrize("data, bytes_", [
    (tensor_of(4, 0, 100, 1), b"\0" * 16), (tensor_of(4, 3, 2, 1), b"\0" * 16), (tensor_of(4, -1, 2, 1), b"\0" * 16),
    (tensor_of(4, 0, 2, -1), b"\0" * 16), (tensor_of(4, 0, -1, 1), b"\0" * 16), (tensor_of(400, 0, 1, 1), b"\0" * 16),
    (tensor_of(4, 0, 2**40, 2**40), b"\0" * 16),
])
def test_a_tensor_reaches_no_memory_of_others(data, bytes_):
    with pytest.raises(RuntimeError):
        shunt.load(archive_of(data, data__0=bytes_))
    assert shunt.load(archive_of(tensor_of(4, 1, 3, 1), data__0=b"\0" * 16)).tolist() == [0.0] * 3


OLD_MAGIC = pickle.dumps(0x1950a86a20f9469cfc6c, protocol=2)


@pytest.mark.parametrize("content, kind", [
    (b"", "empty"),
    (b"not a zip", "a text file, not an archive that torch.save writes; it begins with 'not a zip'"),
    (b"PK\x03\x04" + b"\0" * 40,
     "a zip file whose directory is missing, as of a file that was cut off: write or copy it again"),
    (b"\x93NUMPY\x01\x00", "an array of NumPy's: shunt.from_numpy(numpy.load(file)) reads it"),
    (pickle.dumps([1, 2]), "a pickle, not an archive that torch.save writes since PyTorch 1.6: pickle.load reads it"),
    (OLD_MAGIC, "in the format that torch.save had before PyTorch 1.6: load it with PyTorch, and save it again"),
    (b"\x10" + b"\0" * 7 + b"{}" + b" " * 14,
     "a safetensors file, by its contents: give it a name that ends in .safetensors"),
    (b"\xff\xfe\x00", "no archive that torch.save writes since PyTorch 1.6"),
], ids=lambda v: None if isinstance(v, bytes) else v[:14])
def test_damaged_files(tmp_path, content, kind):
    path = tmp_path / "damaged.pt"
    path.write_bytes(content)
    with pytest.raises(RuntimeError) as caught:
        shunt.load(path)
    assert str(caught.value) == f"load(): {path} is {kind}"
    with open(path, "rb") as file, pytest.raises(RuntimeError) as caught:
        shunt.load(file)
    assert str(caught.value) == f"load(): the file is {kind}"


def test_missing_files(tmp_path):
    for name in ("missing.pt", "missing.safetensors"):
        with pytest.raises(FileNotFoundError, match="there is no such file") as caught:
            shunt.load(tmp_path / name)
        assert caught.value.errno == errno.ENOENT and caught.value.filename == str(tmp_path / name)
    for data in (b"", b"(", pickle.dumps([1, 2, 3])[:-2]):
        with pytest.raises((RuntimeError, shunt.serialization.UnpicklingError)):
            shunt.load(archive_of(data))


@pytest.mark.parametrize("key", [b"K\x01" + b"\x85" * 1_000_000, b"K\x01" + b"2\x86" * 100])
def test_tuples_that_python_could_not_hash(key):
    with pytest.raises(shunt.serialization.UnpicklingError, match="nested too deep"):
        shunt.load(archive_of(b"}" + key + b"K\x01s."))
    assert shunt.load(archive_of(b"}K\x01" + b"\x85" * 100 + b"K\x01s."))


def test_settings_that_are_refused(tmp_path):
    with pytest.raises(NotImplementedError, match="pickle_module"):
        shunt.load(tmp_path / "x", pickle_module=pickle)
    with pytest.raises(NotImplementedError, match="map_location"):
        shunt.load(tmp_path / "x", map_location="cuda")


def test_where_tensors_are_loaded(tmp_path):
    path, x = tmp_path / "a.pt", shunt.arange(6.0)
    shunt.save({"x": x, "part": x[2:]}, path)
    seen = []

    def note(storage, location):
        seen.append((type(storage), location, storage.nbytes()))
        return storage

    for place in (note, lambda storage, location: None, lambda storage, location: storage.clone(), {"cuda:0": "cpu"},
                  {"cpu": shunt.device("cpu")}, "cpu", shunt.device("cpu")):
        got = shunt.load(path, map_location=place)
        assert got["x"].tolist() == x.tolist() and got["part"].tolist() == x[2:].tolist()
        got["x"][2] = 9
        assert got["part"][0].item() == 9
    assert seen == [(shunt.UntypedStorage, "cpu", 24)]
    for place in ("meta", {"cpu": "meta"}):
        got = shunt.load(path, map_location=place)
        assert got["part"].is_meta and got["part"].shape == (4,) and got["part"].storage_offset() == 2
    shunt.save({"x": x}, tmp_path / "a.safetensors")
    assert shunt.load(tmp_path / "a.safetensors", map_location="meta")["x"].is_meta


@pytest.mark.parametrize("place, error, message", [
    (5, TypeError, "load(): expected map_location to be None, a device, its name, a dictionary of them or a function, "
     "got int"),
    (lambda storage, location: 5, TypeError,
     "load(): expected what map_location returns to be an UntypedStorage or None, got int"),
    (lambda storage, location: [][0], IndexError, "list index out of range"),
    ({"cpu": "cuda"}, NotImplementedError,
     "load(): map_location={'cpu': 'cuda'} is not supported: tensors are loaded on the CPU or on meta; copy them to "
     "other devices"),
])
def test_places_that_are_refused(tmp_path, place, error, message):
    shunt.save(shunt.ones(1), tmp_path / "a.pt")
    with pytest.raises(error) as caught:
        shunt.load(tmp_path / "a.pt", map_location=place)
    assert str(caught.value) == message


def test_what_is_no_file(tmp_path):
    for call, message in ((lambda: shunt.load(5), "load(): expected f to be a path, or a file that is open for "
                           "reading, got int"),
                          (lambda: shunt.save(1, 5), "save(): expected f to be a path, or a file that is open for "
                           "writing, got int")):
        with pytest.raises(AttributeError) as caught:
            call()
        assert str(caught.value) == message
    with pytest.raises(RuntimeError) as caught:
        shunt.save(1, tmp_path)
    assert str(caught.value) == f"save(): can't write {tmp_path}: it is a directory"
    with pytest.raises(IsADirectoryError):
        shunt.load(tmp_path)


def test_modules_and_optimizers_as_they_are():
    layers = shunt.nn.Sequential(shunt.nn.Linear(2, 3), shunt.nn.LSTM(3, 4))
    optimizer = shunt.optim.Adam(layers.parameters())
    schedule = shunt.optim.lr_scheduler.StepLR(optimizer, 2)
    file = io.BytesIO()
    shunt.save({"layers": layers, "optimizer": optimizer, "schedule": schedule, "range": range(3)}, file)
    file.seek(0)
    with pytest.raises(shunt.serialization.UnpicklingError, match="Sequential|Linear"):
        shunt.load(file)
    file.seek(0)
    loaded = shunt.load(file, weights_only=False)
    x = shunt.randn(5, 2)
    assert shunt.equal(loaded["layers"](x)[0], layers(x)[0])
    assert loaded["optimizer"].param_groups[0]["params"][0] is loaded["layers"][0].weight
    assert loaded["schedule"].optimizer is loaded["optimizer"] and loaded["range"] == range(3)


class Measured(shunt.Tensor):
    pass


def test_classes_and_attributes_of_tensors(tmp_path):
    x = shunt.ones(2).as_subclass(Measured)
    x.unit, y = "km", shunt.ones(3)
    y.label = ["a"]
    shunt.save({"x": x, "y": y}, tmp_path / "a.pt")
    got = shunt.load(tmp_path / "a.pt", weights_only=False)
    assert type(got["x"]) is Measured and got["x"].unit == "km" and got["y"].label == ["a"]
    with pytest.raises(shunt.serialization.UnpicklingError, match="Measured"):
        shunt.load(tmp_path / "a.pt")
    with shunt.serialization.safe_globals([Measured]):
        got = shunt.load(tmp_path / "a.pt")
    assert type(got["x"]) is Measured and got["x"].unit == "km"
    shunt.save(y, tmp_path / "b.pt")
    assert type(shunt.load(tmp_path / "b.pt")) is shunt.Tensor and shunt.load(tmp_path / "b.pt").label == ["a"]


class Reduces(shunt.Tensor):
    def __reduce_ex__(self, protocol):
        return made_of, (self.tolist(),)


def made_of(numbers):
    x = shunt.tensor(numbers).as_subclass(Reduces)
    x.made = True
    return x


def test_a_class_may_say_how_it_is_saved(tmp_path):
    shunt.save(shunt.ones(2).as_subclass(Reduces), tmp_path / "a.pt")
    assert shunt.load(tmp_path / "a.pt", weights_only=False).made


def test_attributes_read_by_torch(tmp_path):
    torch = pytest.importorskip("torch")
    x, p = shunt.ones(2), shunt.nn.Parameter(shunt.ones(2))
    x.label, p.label = "a", "b"
    shunt.save([x, p], tmp_path / "a.pt")
    assert [type(t) for t in torch.load(tmp_path / "a.pt")] == [torch.Tensor, torch.nn.Parameter]
    assert [t.label for t in torch.load(tmp_path / "a.pt")] == ["a", "b"]
    torch.save(torch.load(tmp_path / "a.pt"), tmp_path / "b.pt")
    assert [t.label for t in shunt.load(tmp_path / "b.pt")] == ["a", "b"]
