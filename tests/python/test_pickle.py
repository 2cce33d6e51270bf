"""pickle, copy and deepcopy."""

import copy
import io
import operator
import pickle

import pytest

import shunt


class Labelled(shunt.Tensor):
    pass


class Slotted(shunt.Tensor):
    __slots__ = ("label",)


def sent(obj, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(obj, protocol))


PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype(name, protocol):
    x = shunt.arange(6).to(getattr(shunt, name)).reshape(2, 3)
    got = sent(x, protocol)
    assert got.dtype is x.dtype and got.tolist() == x.tolist() and type(got) is shunt.Tensor


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_views_keep_their_place(protocol):
    x = shunt.arange(12.0).reshape(3, 4)
    view = x.t()[1:3, ::2]
    got = sent(view, protocol)
    assert got.tolist() == view.tolist() and got.stride() == view.stride() and got.storage_offset() == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tensors_that_share_memory_share_it_again(protocol):
    x = shunt.arange(6.0)
    a, b, c = sent((x, x[2:], x.clone()), protocol)
    assert a.untyped_storage() is b.untyped_storage() is not c.untyped_storage()
    a[2] = 50
    assert b[0].item() == 50 and c[2].item() == 2
    y, z = sent((x, x), protocol)
    assert y is z


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_requires_grad_and_shapes(protocol):
    x = shunt.ones(2, requires_grad=True)
    assert sent(x, protocol).requires_grad and sent(x, protocol).is_leaf
    history = sent(x * 2, protocol)
    assert history.is_leaf and history.requires_grad and history.tolist() == [2.0, 2.0]
    for x in (shunt.tensor(1.5), shunt.ones(0), shunt.ones(2, 0, 3)):
        assert sent(x, protocol).tolist() == x.tolist() and sent(x, protocol).shape == x.shape
    meta = sent(shunt.ones(2, 3, device="meta"), protocol)
    assert meta.is_meta and meta.shape == (2, 3)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_attributes_and_classes(protocol):
    x = shunt.ones(2)
    x.label = ["a"]
    assert sent(x, protocol).label == ["a"]
    y = Labelled([1, 2])
    y.label = "b"
    got = sent(y, protocol)
    assert type(got) is Labelled and got.label == "b" and got.tolist() == [1.0, 2.0]
    z = Slotted([1, 2])
    z.label, z.other = "c", "d"
    got = sent(z, protocol)
    assert type(got) is Slotted and (got.label, got.other) == ("c", "d")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_else_programs_pickle(protocol):
    generator = shunt.Generator().manual_seed(3)
    shunt.randn(5, generator=generator)
    again = sent(generator, protocol)
    assert again.initial_seed() == 3
    assert shunt.randn(4, generator=again).tolist() == shunt.randn(4, generator=generator).tolist()
    for obj in (shunt.float32, shunt.bfloat16, shunt.strided, shunt.contiguous_format):
        assert sent(obj, protocol) is obj
    assert sent(shunt.Size([1, 2]), protocol) == shunt.Size([1, 2])
    assert type(sent(shunt.Size([1, 2]), protocol)) is shunt.Size
    assert sent(shunt.device("meta"), protocol) == shunt.device("meta")
    storage = shunt.arange(3, dtype=shunt.uint8).untyped_storage()
    assert sent(storage, protocol).tolist() == [0, 1, 2]


@pytest.mark.parametrize("size, stride, offset", [
    ((100,), (1,), 0), ((2,), (1,), 3), ((2, 2), (10**9, 1), 0), ((1,), (1,), -1), ((2**62, 4), (1, 2**62), 0),
    ((2,), (-1,), 1), ((2,), (1, 1), 0)])
def test_a_pickle_that_lies_about_a_tensor(size, stride, offset):
    storage = shunt.ones(4).untyped_storage()
    with pytest.raises((RuntimeError, ValueError)):
        shunt._reduction._rebuild_tensor(storage, offset, size, stride, shunt.float32, False)


def test_copy_shares_memory():
    x = shunt.ones(3)
    x.label = [1]
    y = copy.copy(x)
    assert y is not x and y.data_ptr() == x.data_ptr() and y.label is x.label
    assert copy.copy(shunt.ones(1, requires_grad=True)).requires_grad


def test_deepcopy():
    x = shunt.arange(6.0)
    x.label = [x]
    a, b = copy.deepcopy((x, x[2:]))
    assert a.data_ptr() != x.data_ptr() and a.untyped_storage() is b.untyped_storage()
    assert a.label[0] is a
    y = shunt.ones(2, requires_grad=True)
    (y * 3).sum().backward()
    z = copy.deepcopy(y)
    assert z.requires_grad and z.is_leaf and z.grad.tolist() == [3.0, 3.0] and z.grad is not y.grad
    assert z.grad.data_ptr() != y.grad.data_ptr()
    first, second = copy.deepcopy([y, y])
    assert first is second
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(y * 2)


def test_deepcopy_of_classes_and_others():
    x = Slotted([1, 2])
    x.label, x.other = [1], [2]
    y = copy.deepcopy(x)
    assert type(y) is Slotted and y.label == [1] and y.label is not x.label and y.other is not x.other
    t = copy.deepcopy(shunt.ones(2, 3).t())
    assert t.stride() == (1, 3)
    assert copy.deepcopy(shunt.float32) is shunt.float32
    assert copy.deepcopy(shunt.ones(2, device="meta")).is_meta
    generator = shunt.Generator().manual_seed(3)
    assert copy.deepcopy(generator).initial_seed() == 3


def test_storages():
    x = shunt.arange(3, dtype=shunt.int32)
    storage = x.untyped_storage()
    assert storage is x[1:].untyped_storage()
    assert storage.nbytes() == storage.size() == len(storage) == 12
    assert storage.data_ptr() == x.data_ptr() and storage.device == shunt.device("cpu")
    assert storage.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]
    assert storage.clone().tolist() == storage.tolist() and storage.clone() is not storage
    with pytest.raises(IndexError):
        storage[12]
    assert len({storage, x.untyped_storage()}) == 1
    view = memoryview(storage)
    with pytest.raises(BufferError):
        storage.resize_(100)
    view.release()
    assert len(storage.resize_(100)) == 100 and storage.tolist()[:5] == [0, 0, 0, 0, 1]
    assert len(shunt.UntypedStorage(5)) == 5


class Watching(shunt.Tensor):
    """Notes what its handler is called for, with the unit that the tensor has then."""

    seen = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen += [(func.__name__, getattr(x, "unit", None)) for x in args if isinstance(x, cls)]
        return super().__torch_function__(func, types, args, kwargs or {})


def saved(obj):
    file = io.BytesIO()
    shunt.save(obj, file)
    file.seek(0)
    return shunt.load(file, weights_only=False)


@pytest.mark.parametrize("again", [sent, copy.copy, copy.deepcopy, saved])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_no_handler_sees_a_tensor_without_its_attributes(again, requires_grad):
    x = shunt.ones(2).as_subclass(Watching)
    x.unit = "km"
    x.requires_grad_(requires_grad)
    Watching.seen.clear()
    got = again(x)
    assert {unit for _, unit in Watching.seen} <= {"km"} and {name for name, _ in Watching.seen} <= {
        "__reduce_ex__", "__deepcopy__"}
    assert type(got) is Watching and got.unit == "km" and got.requires_grad == requires_grad


def test_attributes_of_parameters():
    p = shunt.nn.Parameter(shunt.ones(2), requires_grad=False)
    p.label = "a"
    for again in (sent, copy.copy, saved):
        got = again(p)
        assert type(got) is shunt.nn.Parameter and got.label == "a" and not got.requires_grad


#: Of each kind of function one or two, by their public names.
FUNCTIONS = ["add", "relu", "zeros", "tensor", "einsum", "sort", "meshgrid", "is_grad_enabled", "special.erf",
             "linalg.cholesky", "linalg.norm", "nn.functional.linear", "nn.functional.gelu", "nn.functional.conv2d",
             "nn.init.ones_", "func.vmap", "ops.aten.add.Tensor", "ops.aten.relu.default", "ops.aten.add", "ops.aten",
             "ops", "Tensor.add", "Tensor.sum", "Tensor.__getitem__", "Tensor.backward", "float32", "finfo"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_operators(name):
    function = operator.attrgetter(name)(shunt)
    for protocol in PROTOCOLS:
        assert sent(function, protocol) is function
    assert copy.deepcopy(function) is copy.copy(function) is saved(function) is function


def test_functions_have_public_names():
    for name in shunt._operators.__all__:
        assert sent(getattr(shunt._operators, name)) is getattr(shunt._operators, name)
    assert b"_C" not in pickle.dumps([shunt.relu, shunt.nn.functional.linear, shunt.special.erf])
    module = shunt.nn.Linear(2, 2)
    module.activation = shunt.relu
    assert saved(module).activation is copy.deepcopy(module).activation is shunt.relu
    assert sent(shunt.unique_consecutive) is shunt.unique_consecutive is not shunt._operators.unique_consecutive


#: Of operators and of what is made of them, as functions and methods.
RESULTS = ["x.max(0)", "shunt.max(x, 0)", "x.sort()", "x.topk(2)", "x.median(0)", "shunt.aminmax(x)", "x.mode()",
           "x.kthvalue(1)", "x.cummax(0)", "shunt.linalg.slogdet(x @ x.T + shunt.eye(2))", "shunt.histogram(x, 3)"]


@pytest.mark.parametrize("expression", RESULTS)
def test_results_with_names(expression):
    result = eval(expression, {"shunt": shunt, "x": shunt.arange(6.0).reshape(2, 3)})
    for again in (*(lambda r, p=p: sent(r, p) for p in PROTOCOLS), copy.deepcopy, saved):
        got = again(result)
        assert type(got) is type(result) and all(map(shunt.equal, got, result))
    assert type(result) is getattr(shunt.return_types, type(result).__name__)


def test_return_types():
    x = shunt.ones(2, 2)
    assert type(x.max(0)) is type(shunt.max(x, 0)) is type(x.max(dim=1, keepdim=True)) is shunt.return_types.max
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        shunt.return_types.nothing
