"""Messages and warnings: in Python's words, of PyTorch's exception types, at the line of the program."""

import inspect
import io
import pickle
import re
import warnings

import pytest

import shunt
import shunt.nn.functional as F
from shunt._subclasses.fake_tensor import FakeTensorMode

# What only C++ has.
CPP = re.compile(r"::k[A-Z]|NoGradGuard|Options::|SHUNT_|FakeTensorMode::|autograd::|shunt::|nullopt|=true|KernelClass")


def leaf():
    return shunt.ones(2, requires_grad=True)


def message_of(error, call):
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    assert not CPP.search(text), text
    return text


def inference_leaf():
    with shunt.inference_mode():
        x = shunt.ones(2)
    x.requires_grad_()


def backward_twice():
    y = (leaf() * leaf()).sum()
    y.backward()
    y.backward()


def vmap_random(randomness, f=lambda x: shunt.rand(2)):
    return shunt.func.vmap(f, randomness=randomness)(shunt.ones(3, 2))


def defined_in_impl():
    shunt.library.Library("aten", "IMPL").define("f(Tensor x) -> Tensor")


def of_fake_and_real():
    with FakeTensorMode():
        shunt.ones(2) + real


def without_kernel():
    lib = shunt.library.Library("messages", "DEF")
    lib.define("nothing(Tensor x) -> Tensor")
    try:
        shunt.ops.messages.nothing(shunt.ones(1))
    finally:
        lib._destroy()


real = shunt.ones(2)


@pytest.mark.parametrize("error, call, part", [
    (RuntimeError, lambda: leaf().add_(1), "or shunt.no_grad() to change it"),
    (RuntimeError, lambda: leaf()[0].add_(1), "or shunt.no_grad() to change it"),
    (RuntimeError, inference_leaf, "outside shunt.inference_mode(), and set it"),
    (RuntimeError, backward_twice, "first backward or autograd.grad; pass retain_graph=True"),
    (RuntimeError, lambda: vmap_random("error"), "randomness='error' doesn't allow: give it randomness='same'"),
    (RuntimeError, lambda: vmap_random("different", lambda x: real.uniform_()),
     "with randomness='different' writes"),
    (RuntimeError, defined_in_impl, "define() is for libraries of the kinds DEF and FRAGMENT"),
    (NotImplementedError, without_kernel, "shunt.library.Library('<namespace>', 'IMPL').impl(..., 'CPU')"),
    (AssertionError, lambda: shunt.empty(2, device="xpu"),
     "it registers this operator with shunt.library.Library('<namespace>', 'IMPL').impl(..., 'XPU'), and no loaded"),
], ids=lambda v: getattr(v, "__name__", None))
def test_advice_is_pythons(error, call, part):
    assert part in message_of(error, call)


def test_advice_about_fake_tensors():
    assert "FakeTensorMode's from_tensor(t)" in message_of(Exception, of_fake_and_real)


@pytest.mark.parametrize("call", [
    lambda: shunt.ones(2).cuda(), lambda: shunt.ones(2).to("cuda"), lambda: shunt.ones(2, device="cuda:0"),
    lambda: shunt.nn.Linear(2, 2).cuda(), lambda: shunt.tensor([1.0], device="cuda"),
])
def test_there_is_no_cuda(call):
    assert "Leave out .cuda() and device='cuda'" in message_of(AssertionError, call)


@pytest.mark.parametrize("error, call", [
    (RuntimeError, lambda: shunt.ones(2).to(1)),
    (RuntimeError, lambda: shunt.empty(2, device=3)),
    (RuntimeError, lambda: shunt.device(0)),
    (TypeError, lambda: ~shunt.ones(2)),
    (RuntimeError, lambda: shunt.argmax(shunt.tensor([True]))),
    (ValueError, lambda: shunt.manual_seed("a")),
    (TypeError, lambda: shunt.manual_seed(None)),
    (TypeError, lambda: shunt.autograd.grad(leaf().sum(), leaf(), allow_unused="a")),
    (TypeError, lambda: leaf().requires_grad_("a")),
    (TypeError, lambda: leaf().requires_grad_([])),
    (RuntimeError, lambda: setattr(leaf(), "requires_grad", 1)),
    (RuntimeError, lambda: shunt.compile(F.relu, backend="xyz")),
    (RuntimeError, lambda: shunt.compile(F.relu, mode="xyz")),
    (RuntimeError, lambda: shunt.compile(F.relu, options={"recrod_after": 1})),
    (pickle.PicklingError, lambda: shunt.save(lambda: 3, io.BytesIO())),
    (TypeError, lambda: shunt.cat([real, 3])),
], ids=lambda v: None if isinstance(v, type) else inspect.getsource(v).strip()[:40])
def test_types_are_pytorchs(error, call):
    message_of(error, call)


def test_settings_of_compile_that_change_nothing():
    for more in ({"backend": "inductor"}, {"mode": "max-autotune"}, {"options": {"triton.cudagraphs": True}}):
        assert shunt.compile(F.relu, **more)(real).tolist() == [1.0, 1.0]


def test_tensors_that_are_not_used():
    with pytest.raises(RuntimeError, match="The differentiated Tensor at index 1 appears to not have been used"):
        x = leaf()
        shunt.autograd.grad(x.sum(), [x, leaf()])


def test_signatures_name_dtypes():
    with pytest.raises(TypeError, match="dtype dtype=shunt.int64"):
        shunt.randint(3)


def test_results_are_printed_in_columns():
    assert repr(shunt.topk(shunt.tensor([[1.0, 3.0], [5.0, 4.0]]), 1)) == (
        "shunt.return_types.topk(\nvalues=tensor([[3.],\n        [5.]]),\nindices=tensor([[1],\n        [0]]))")


def warnings_of(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except TypeError:
            pass
    return caught


def test_an_index_that_is_refused_is_not_warned_of():
    assert warnings_of(lambda: shunt.ones(2)["a"]) == []


def test_warnings_are_at_the_programs_line():
    calls = []

    @shunt.compile
    def f(x):
        calls.append(1)  # which no graph would do
        return x * 2

    def go():
        for _ in range(8):
            f(real)

    caught = warnings_of(go)
    assert [w.filename for w in caught] == [__file__], caught
    assert "runs as it does without" in str(caught[0].message)
    assert linecache_line(caught[0]) == "f(real)"


def linecache_line(warning):
    import linecache
    return linecache.getline(warning.filename, warning.lineno).strip()


def test_a_filter_makes_errors_of_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="non-tuple sequence"):
            shunt.ones(2, 2)[[slice(None), 1]]


def test_cuda_is_refused_in_one_line():
    message = message_of(AssertionError, lambda: shunt.ones(2).cuda())
    assert "\n" not in message and "aten::" in message.partition(" (in ")[2] and len(message) < 250


@pytest.mark.parametrize("error, call, part", [
    (TypeError, lambda: shunt.ones(2).sum(axes=0), "did you mean 'axis'?"),
    (TypeError, lambda: shunt.ones(2).sum(dimm=0), "did you mean 'dim'?"),
    (TypeError, lambda: shunt.ones(2, dtype="float32"), "; did you mean shunt.float32?"),
    (TypeError, lambda: shunt.tensor([2], dtype="int8"), "; did you mean shunt.int8?"),
    (RuntimeError, lambda: shunt.ones(2).to("float16"), "; did you mean shunt.float16?"),
    (RuntimeError, lambda: shunt.device("cdua"), "Expected one of cpu, meta"),
    (RuntimeError, lambda: shunt.einsum("ij,jk", shunt.ones(2, 3), shunt.ones(2, 4)),
     "subscript j has size 3 in operand 0 of shape [2, 3] and 2 in operand 1 of shape [2, 4]"),
    (RuntimeError, lambda: shunt.einsum("...i,...i", shunt.ones(2, 3), shunt.ones(4, 3)),
     "dimension 0 of the ellipsis has size 2 in operand 0 of shape [2, 3] and 4 in operand 1"),
])
def test_what_was_meant(error, call, part):
    assert part in message_of(error, call)


# ---- whole messages ------------------------------------------------------------------------------------------------

weight = shunt.nn.Parameter(shunt.ones(2))
linear = shunt.nn.Linear(2, 3)
attention = shunt.nn.MultiheadAttention(4, 2)


@pytest.mark.parametrize("error, call, message", [
    (TypeError, lambda: shunt.zeros(2, "a"),
     "zeros(): argument 'size' must be tuple of ints, or ints one by one: element 1 is str"),
    (TypeError, lambda: shunt.empty(2, [3]),
     "empty(): argument 'size' must be tuple of ints, or ints one by one: element 1 is list"),
    (TypeError, lambda: shunt.cat([real, 3]),
     "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not list: element 1 is int"),
    (TypeError, lambda: shunt.stack(tensors=[real, None]),
     "stack(): argument 'tensors' must be tuple of Tensors, not list: element 1 is NoneType"),
    (TypeError, lambda: shunt.tensor([1], dtyp=1),
     "tensor() got an unexpected keyword argument 'dtyp'; did you mean 'dtype'?"),
    (TypeError, lambda: shunt.optim.Adam(linear.parameters),
     "Adam(): expected params to be an iterable of Tensors or of dicts, got method; call it: parameters()"),
    (TypeError, lambda: shunt.optim.SGD(linear),
     "SGD(): expected params to be an iterable of Tensors or of dicts, got Linear; pass its parameters()"),
    (TypeError, lambda: shunt.optim.SGD(weight),
     "SGD(): expected params to be an iterable of Tensors or of dicts, got Parameter"),
    (TypeError, lambda: shunt.nn.utils.clip_grad_norm_(linear, 1.0),
     "clip_grad_norm_(): expected parameters to be an iterable of Tensors, got Linear; pass its parameters()"),
    (TypeError, lambda: shunt.optim.Adam([weight], betas=0.9), "Adam(): betas: expected two numbers, got 0.9"),
    (ValueError, lambda: shunt.optim.NAdam([weight], betas=(0.9,)),
     "NAdam(): betas: expected two numbers, got 1: (0.9,)"),
    (TypeError, lambda: shunt.optim.Adam([weight], lr="0.1"), "Adam(): learning rate: expected a number, got '0.1'"),
    (TypeError, lambda: shunt.optim.RMSprop([weight], lr=None),
     "RMSprop(): learning rate: expected a number, got None"),
    (TypeError, lambda: shunt.optim.LBFGS([weight], lr="1"), "LBFGS(): learning rate: expected a number, got '1'"),
    (TypeError, lambda: shunt.nn.Hardtanh("0"), "Hardtanh(): expected min_val to be a number, got '0'"),
    (TypeError, lambda: shunt.nn.HuberLoss(delta="1"), "HuberLoss(): expected delta to be a number, got '1'"),
    (TypeError, lambda: shunt.nn.LazyConv2d(2, 3, groups="1"),
     "LazyConv2d(): argument 'groups' must be int, not str"),
    (TypeError, lambda: shunt.nn.Dropout("0.1"), "Dropout(): expected p to be a number, got '0.1'"),
    (TypeError, lambda: shunt.utils.data.DataLoader([1], num_workers="2"),
     "DataLoader(): num_workers: expected a number, got '2'"),
    (TypeError, lambda: leaf().backward(5),
     "backward(): expected gradient to be a Tensor, a sequence of them or None, got int"),
    (TypeError, lambda: shunt.nn.Conv2d(3, 4), "Conv2d() missing required argument: 'kernel_size'"),
    (TypeError, lambda: shunt.nn.LSTM(3), "LSTM() missing required argument: 'hidden_size'"),
    (TypeError, lambda: shunt.nn.Linear(2, 3, True, None, None, 6),
     "Linear() takes at most 5 positional arguments, got 6"),
    (ValueError, lambda: shunt.nn.BatchNorm2d(3)(shunt.ones(2, 3)),
     "BatchNorm2d(): expected 4D input (got 2D input)"),
    (AssertionError, lambda: attention(shunt.ones(3, 1, 4), shunt.ones(3, 1, 4), shunt.ones(5, 1, 4)),
     "multi_head_attention_forward(): expected key and value of one length and batch, got key of shape (3, 1, 4) and "
     "value of shape (5, 1, 4)"),
    (NotImplementedError, lambda: F.interpolate(shunt.ones(1, 1, 2, 2), scale_factor=2, mode="bilinaer"),
     "interpolate(): expected mode to be one of 'nearest', 'area', 'nearest-exact', 'linear', 'bilinear', 'trilinear', "
     "'bicubic', got 'bilinaer'; did you mean 'bilinear'?"),
    (ValueError, lambda: shunt.manual_seed("a"), "manual_seed(): expected seed to be an int, got 'a'"),
    (KeyError, lambda: shunt.optim.SGD([{"param": [weight]}]),
     "\"SGD(): expected 'params' in each group, got ['param']; did you mean 'params'?\""),
    (RuntimeError, lambda: shunt.func.vmap(lambda x: x.tolist())(real),
     "tolist(): there are no elements of a tensor inside vmap or grad: it has no data of its own; it stands for a "
     "sample, or for a value that is differentiated"),
], ids=lambda v: None if not inspect.isfunction(v) else inspect.getsource(v).strip()[:60])
def test_whole_messages(error, call, message):
    assert message_of(error, call) == message


def test_advice_about_randomness():
    assert ("give it randomness='same' for the same numbers in each sample, or randomness='different' for others"
            in message_of(RuntimeError, lambda: vmap_random("error")))


def test_there_is_no_mps():
    no_mps = ("Shunt has no backend for mps: its tensors are on the CPU. Leave out .to('mps') and device='mps', or ask "
              "shunt.backends.mps.is_available() first.")
    for call in (lambda: real.to("mps"), lambda: shunt.ones(2, device="mps")):
        assert message_of(RuntimeError, call).startswith(no_mps)


# ---- warnings ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("call", [
    lambda: shunt.ones(3)[shunt.tensor([1, 0, 1], dtype=shunt.uint8)],
    lambda: shunt.zeros(1).expand(3).masked_fill_(shunt.tensor([True, False, True]), 1.0),
    lambda: (leaf() * 2).grad,
    lambda: F.softmax(shunt.ones(2, 2)),
], ids=["kernel", "in place", "getter", "package"])
def test_a_warning_that_is_an_error_is_raised(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            call()
        shunt.ones(2) + 1  # nothing is left behind
    assert len(warnings_of(call)) == 1


def test_the_error_of_a_call_wins_over_its_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((IndexError, RuntimeError)) as caught:
            shunt.ones(3)[shunt.tensor([1, 0, 1, 1], dtype=shunt.uint8)]
        assert not isinstance(caught.value, Warning)
        shunt.ones(2) + 1


@pytest.mark.parametrize("call", [
    lambda: F.softmax(shunt.ones(2, 2)), lambda: shunt.nn.LSTM(1, 1, dropout=0.5),
    lambda: F.upsample(shunt.ones(1, 1, 2, 2), scale_factor=2), lambda: shunt.ones(1, 2, 3).T,
    lambda: shunt.meshgrid(real, real), lambda: F.kl_div(real, real),
    lambda: F.mse_loss(shunt.ones(2, 1), shunt.ones(2)),
], ids=lambda call: inspect.getsource(call).strip()[:40])
def test_warnings_are_of_the_programs_line(call):
    (warning,) = warnings_of(call)
    assert warning.filename == __file__ and warning.category is UserWarning


def test_outputs_that_are_resized():
    x = shunt.arange(6.0).view(2, 3)
    (warning,) = warnings_of(lambda: shunt.add(x, 1, out=shunt.empty(2)))
    assert str(warning.message) == (
        "An output with one or more elements was resized: out= had shape [2] and has [2, 3] now. A future version "
        "won't resize it. Call out.resize_(0) before to have it resized.")
    assert warning.filename == __file__
    (warning,) = warnings_of(lambda: shunt.max(x, 0, out=(shunt.empty(3), shunt.empty(1, dtype=shunt.int64))))
    assert "had shape [1] and has [3] now" in str(warning.message)
    for out in (shunt.empty(2, 3), shunt.empty(0), shunt.empty(0, 3)):
        assert warnings_of(lambda: shunt.add(x, 1, out=out)) == []
    assert warnings_of(lambda: shunt.max(x, 0, out=(shunt.empty(0), shunt.empty(0, dtype=shunt.int64)))) == []


def test_a_warning_at_the_modules_level():
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-m", "shunt", "-c", "import torch\n\ntorch.nn.functional.softmax("
                           "torch.ones(2, 2))"], capture_output=True, text=True)
    assert done.stderr.startswith("<string>:3: UserWarning: softmax()"), done.stderr
