"""The messages of lookups by name that find nothing, whole, with the names that are near."""

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
