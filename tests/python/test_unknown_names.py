"""The messages of lookups by name that find nothing, whole, with the names that are near."""

import copy
import inspect

import pytest

import shunt
from shunt import _C, nn


def message_of(call):
    with pytest.raises((AttributeError, RuntimeError, TypeError, ValueError)) as caught:
        call()
    return str(caught.value)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(2, 2)


def test_operators():
    aten = shunt.ops.aten
    assert message_of(lambda: aten.reluu) == (
        "'_OpNamespace' 'aten' object has no attribute 'reluu'; did you mean 'relu' or 'relu_' or 'elu'?")
    assert message_of(lambda: shunt.ops.atne.relu) == (
        "'_OpNamespace' 'atne' object has no attribute 'relu': no operator is in this namespace; did you mean 'aten'?")
    assert message_of(lambda: shunt.ops.quux.relu) == (
        "'_OpNamespace' 'quux' object has no attribute 'relu': no operator is in this namespace")
    assert message_of(lambda: aten.mm.oot) == (
        "The underlying op of 'aten.mm' has no overload name 'oot', only default, out; did you mean 'out'?")
    assert message_of(lambda: aten.relu.default(slef=shunt.ones(1))) == (
        "Unknown keyword argument 'slef' for operator 'aten::relu'; did you mean 'self'? Schema: "
        "aten::relu(Tensor self) -> Tensor")
    assert message_of(lambda: aten.relu.default(quux=shunt.ones(1))) == (
        "Unknown keyword argument 'quux' for operator 'aten::relu'. Schema: aten::relu(Tensor self) -> Tensor")
    found = "Could not find schema for aten::addmn: there is no such operator; did you mean 'aten::addmm' or "
    assert message_of(lambda: _C._dispatch_find_schema_or_throw("aten::addmn")).startswith(found)
    assert message_of(lambda: shunt.jit.explain("addmn", shunt.ones(1))).startswith(found)
    assert message_of(lambda: shunt.jit.explain("mm.oot", shunt.ones(1))) == (
        "Could not find schema for aten::mm.oot: aten::mm has no overload 'oot', only aten::mm, aten::mm.out; did you "
        "mean 'aten::mm.out'?")


def test_keys_and_devices():
    assert message_of(lambda: shunt.library.Library("aten", "IMPL", "CPUU")) == (
        "could not parse dispatch key: 'CPUU'; did you mean 'CPU'?")
    with_kernel = shunt.ops.aten.add.Tensor.has_kernel_for_dispatch_key
    assert message_of(lambda: with_kernel("Everything")) == (
        "could not parse dispatch key: 'Everything'; expected a name such as 'CPU', 'CUDA', 'Meta', 'Autograd', "
        "'AutogradCPU', 'CompositeImplicitAutograd' or 'CompositeExplicitAutograd'")
    assert message_of(lambda: _C._dispatch_key_for_device("cdua")).endswith("; did you mean 'cuda'?")
    assert message_of(lambda: shunt.device("cdua")) == (
        "Expected one of cpu, meta, or the type of a backend that is loaded, such as cuda, at start of device string: "
        "cdua; did you mean 'cuda'?")


def test_dtypes_layouts_and_memory_formats():
    x = shunt.ones(2)
    no_dtype = "ones(): argument 'dtype' must be shunt.dtype or None, not str"
    assert message_of(lambda: shunt.ones(2, dtype="flaot32")) == no_dtype + "; did you mean shunt.float32?"
    assert message_of(lambda: shunt.ones(2, dtype="torch.int8")) == no_dtype + "; did you mean shunt.int8?"
    assert message_of(lambda: shunt.ones(2, dtype="quux")) == no_dtype
    assert message_of(lambda: shunt.ones(2, layout="stridid")) == (
        "ones(): argument 'layout' must be shunt.layout or None, not str; did you mean shunt.strided?")
    assert message_of(lambda: x.is_contiguous(memory_format="channels_lst")) == (
        "is_contiguous(): argument 'memory_format' must be shunt.memory_format, not str; did you mean "
        "shunt.channels_last?")
    assert message_of(lambda: x.type("torch.FlotTensor")) == (
        "invalid type: 'torch.FlotTensor'; did you mean 'FloatTensor' or 'BFloat16Tensor' or 'ShortTensor'?")


def test_modules():
    net = Net()
    assert message_of(lambda: net.get_submodule("encodr")) == "Net has no attribute `encodr`; did you mean 'encoder'?"
    assert message_of(lambda: net.get_parameter("encoder.wieght")) == (
        "Linear has no attribute `wieght`; did you mean 'weight'?")
    assert message_of(lambda: shunt.func.functional_call(net, {"encoder.wieght": shunt.ones(2, 2)}, shunt.ones(1, 2))) == (
        "functional_call: expected names of tensors of Net, got 'encoder.wieght'; did you mean 'encoder.weight'?")
    assert message_of(lambda: shunt.autograd.functionl) == (
        "module 'shunt.autograd' has no attribute 'functionl'; did you mean 'functional' or 'function' or 'Function'?")
    assert message_of(lambda: shunt.utils.chekpoint) == (
        "module 'shunt.utils' has no attribute 'chekpoint'; did you mean 'checkpoint'?")
    assert message_of(lambda: nn.utils.parametrise) == (
        "module 'shunt.nn.utils' has no attribute 'parametrise'; did you mean 'parametrize'?")


def test_options_of_compile():
    def f(x):
        return x

    assert message_of(lambda: shunt.compile(f, backend="inductr")).endswith("; did you mean 'inductor'?")
    assert message_of(lambda: shunt.compile(f, mode="reduce_overhead")).endswith("; did you mean 'reduce-overhead'?")
    assert message_of(lambda: shunt.compile(f, options={"max_varants": 3})).endswith("; did you mean 'max_variants'?")


def test_arguments_of_constructors():
    optim, weight = shunt.optim, nn.Parameter(shunt.ones(1))
    for call, message in (
        (lambda: nn.Linear(2, 3, bais=True),
         "Linear() got an unexpected keyword argument 'bais'; did you mean 'bias'?"),
        (lambda: nn.GRU(2, 3, batchfirst=True),
         "GRU() got an unexpected keyword argument 'batchfirst'; did you mean 'batch_first'?"),
        (lambda: nn.CrossEntropyLoss(reductin="mean"),
         "CrossEntropyLoss() got an unexpected keyword argument 'reductin'; did you mean 'reduction'?"),
        (lambda: optim.Adam([weight], beta=(0.9, 0.9)),
         "Adam() got an unexpected keyword argument 'beta'; did you mean 'betas'?"),
        (lambda: optim.AdamW([weight], wieght_decay=1.0),
         "AdamW() got an unexpected keyword argument 'wieght_decay'; did you mean 'weight_decay'?"),
        (lambda: shunt.utils.data.DataLoader([1], num_worker=1),
         "DataLoader() got an unexpected keyword argument 'num_worker'; did you mean 'num_workers'?"),
        (lambda: shunt.compile(len, fulgraph=True),
         "compile() got an unexpected keyword argument 'fulgraph'; did you mean 'fullgraph'?"),
        (lambda: shunt.profiler.profile(activites=[]),
         "profile() got an unexpected keyword argument 'activites'; did you mean 'activities'?"),
        (lambda: shunt.autograd.profiler.profile(record_shape=True),
         "profile() got an unexpected keyword argument 'record_shape'; did you mean 'record_shapes'?"),
        (lambda: Net(1), "Net() takes at most 0 positional arguments, got 1"),
    ):
        assert message_of(call) == message


def test_signatures_stay():
    class Derived(nn.Module):
        def __init__(self, a, *, b=3):
            super().__init__()
            self.a = a

        def forward(self, x):
            return x

    assert str(inspect.signature(Derived)) == "(a, *, b=3)"
    assert str(inspect.signature(nn.LSTM)).startswith("(input_size, hidden_size, num_layers=1")
    assert str(inspect.signature(shunt.compile)).startswith("(model=None, *, fullgraph=False")
    assert copy.deepcopy(Derived(1, b=2)).a == 1

    class Mixed(nn.Module, dict):
        pass

    assert Mixed().training


def test_names_that_are_missing_on_purpose():
    assert message_of(lambda: shunt.fft) == (
        "module 'shunt' has no attribute 'fft': Shunt has no FFT; see docs/differences.md")
    assert message_of(lambda: shunt.linalg.svd) == (
        "module 'shunt.linalg' has no attribute 'svd': Shunt has no singular values, eigenvalues, QR or LU; see "
        "docs/differences.md")
    assert message_of(lambda: shunt.complex) == (
        "module 'shunt' has no attribute 'complex': Shunt has no complex numbers; see docs/differences.md")
    assert message_of(lambda: nn.DataParallel) == (
        "module 'shunt.nn' has no attribute 'DataParallel': Shunt runs on one machine, without data parallelism; see "
        "docs/differences.md")
    for call in (lambda: nn.utils.prune, lambda: shunt.sparse_coo_tensor, lambda: shunt.jit.script):
        assert message_of(call).endswith("; see docs/differences.md")


def test_no_name_that_is_there_is_listed_as_missing():
    from shunt._missing_names import _reasons

    for path in _reasons:
        *modules, name = path.split(".")
        owner = shunt
        for part in modules:
            owner = getattr(owner, part, None)
        if owner is not None and path not in ("distributed", "cpu", "cfloat"):
            assert not hasattr(owner, name), path


def imported(statement):
    with pytest.raises(ImportError) as caught:
        exec(statement, {})
    return str(caught.value)


def test_imports():
    assert imported("from shunt.nn import Liner") == (
        f"cannot import name 'Liner' from 'shunt.nn' ({nn.__file__}); did you mean 'Linear'?")
    assert imported("from shunt.optim import Adm").endswith("; did you mean 'Adam' or 'RAdam' or 'NAdam'?")
    assert imported("from shunt.linalg import svd").endswith(
        ": Shunt has no singular values, eigenvalues, QR or LU; see docs/differences.md")
    assert not hasattr(nn, "Liner") and not hasattr(shunt.linalg, "svd")
    with pytest.raises(AttributeError):
        nn.Liner
