"""Names that programs of PyTorch's use now and then, against PyTorch's."""

import importlib

import pytest

torch = pytest.importorskip("torch")

import shunt  # noqa: E402
from twins import close, same  # noqa: E402


def module(L, name):
    return importlib.import_module(f"{L.__name__}.{name}")


def x(L):
    return L.arange(12.0).view(1, 2, 6) / 4 - 1


@pytest.mark.parametrize(
    "program",
    [
        lambda L: L.celu(x(L), 0.5),
        lambda L: L.celu_(x(L)),
        lambda L: L.selu(x(L)),
        lambda L: L.selu_(x(L)),
        lambda L: L.prelu(x(L), L.tensor([0.1, 0.2])),
        lambda L: x(L).prelu(L.tensor([0.1])),
        lambda L: L.rrelu(x(L)),
        lambda L: L.rrelu_(x(L), 0.2, 0.4),
        lambda L: L.hardshrink(x(L)),
        lambda L: L.bilinear(L.ones(2, 3), L.ones(2, 2), L.ones(4, 3, 2)),
        lambda L: L.conv3d(L.ones(1, 1, 3, 3, 3), L.ones(2, 1, 2, 2, 2)),
        lambda L: L.conv_transpose1d(x(L), L.ones(2, 1, 2)),
        lambda L: L.conv_transpose3d(L.ones(1, 1, 2, 2, 2), L.ones(1, 2, 2, 2, 2)),
        lambda L: L.avg_pool1d(x(L), 2),
        lambda L: L.adaptive_avg_pool1d(x(L), 2),
        lambda L: L.adaptive_max_pool1d(x(L), 2),
        lambda L: L.max_pool1d_with_indices(x(L), 2),
        lambda L: L.max_pool3d(L.ones(1, 1, 2, 2, 2), 2),
        lambda L: L.pairwise_distance(x(L), -x(L)),
        lambda L: L.channel_shuffle(L.arange(8.0).view(1, 4, 2), 2),
        lambda L: L.instance_norm(x(L), None, None, None, None, True, 0.1, 1e-5, True),
        lambda L: L.triplet_margin_loss(x(L), x(L) + 1, x(L) + 2, reduction=2),
        lambda L: L.hinge_embedding_loss(x(L), L.sign(x(L)), 1.0, 0),
        lambda L: L.cosine_embedding_loss(x(L)[0], -x(L)[0], L.tensor([1, -1]), 0.1, 2),
        lambda L: L.margin_ranking_loss(x(L), -x(L), L.ones(1, 2, 6), 0.1),
        lambda L: L.poisson_nll_loss(x(L), x(L) + 2, True, False, 1e-8, 1),
        lambda L: L.ctc_loss(L.zeros(5, 1, 3).log_softmax(-1), L.tensor([[1, 2]]), L.tensor([5]), L.tensor([2]),
                             reduction=2),
        lambda L: L.triplet_margin_loss(x(L), x(L) + 1, x(L) + 2),
        lambda L: L.hinge_embedding_loss(x(L), L.sign(x(L))),
        lambda L: L.cosine_embedding_loss(x(L)[0], -x(L)[0], L.tensor([1, -1])),
        lambda L: L.ctc_loss(L.zeros(5, 1, 3).log_softmax(-1), L.tensor([[1, 2]]), L.tensor([5]), L.tensor([2])),
        lambda L: L.dropout_(x(L), 0.0, True),
        lambda L: L.alpha_dropout(x(L), 0.5, False),
        lambda L: L.feature_dropout(x(L), 0.5, False),
        lambda L: L.feature_alpha_dropout_(x(L), 0.5, False),
        lambda L: L.constant_pad_nd(x(L), (1, 0), 3),
        lambda L: L.norm_except_dim(x(L)[0]),
        lambda L: L.norm_except_dim(x(L)[0], 1, 1),
        lambda L: L.norm_except_dim(x(L), 2, -1),
        lambda L: L.grid_sampler(L.ones(1, 1, 2, 2), L.zeros(1, 2, 2, 2), 0, 0, False),
        lambda L: L.affine_grid_generator(L.ones(1, 2, 3), (1, 1, 2, 2), False),
        lambda L: L.frobenius_norm(x(L), (0, 1)),
        lambda L: L.angle(L.tensor([-1.0, 0.0, 2.0, float("nan")])),
        lambda L: L.tensor([-1, 0, 2]).angle(),
        lambda L: L.mvlgamma(L.tensor([3.5, 10.0]), 2),
        lambda L: L.tensor([3.5, 10.0]).mvlgamma_(3),
        lambda L: L.cholesky_inverse(L.tensor([[2.0, 0.0], [0.5, 3.0]])),
        lambda L: L.tensor([[[2.0, 1.0], [0.0, 3.0]]]).cholesky_inverse(True),
        lambda L: [L.is_neg(x(L)), L.is_conj(x(L)), L.is_distributed(x(L)), L.get_device(x(L)), x(L).is_distributed()],
        lambda L: L.tensor([[1.0, 2.0]]).adjoint(),
        lambda L: L.tensor([1.0]).real,
        lambda L: L.tensor([5, -3]) << L.tensor([2, 1]),
        lambda L: L.tensor([5, -3]) >> 1,
        lambda L: L.bitwise_left_shift(L.tensor([5]), 2),
    ],
)
def test_functions(program):
    close(program)


@pytest.mark.parametrize(
    "program",
    [
        lambda L: L.gcd(L.tensor([6, -4, 0, 12, 0]), L.tensor([4, 6, 0, 0, -5])),
        lambda L: L.tensor([[6], [35]]).gcd(L.tensor([4, 14])),
        lambda L: L.lcm(L.tensor([6, 0, -4]), L.tensor([-4, 6, 6])),
        lambda L: L.gcd(L.tensor([-128], dtype=L.int8), L.tensor([-128, 0], dtype=L.int8)),
        lambda L: L.lcm(L.tensor([6], dtype=L.int8), L.tensor([100], dtype=L.int8)),
        lambda L: L.gcd(L.tensor([6], dtype=L.int32), L.tensor([4])),
        lambda L: L.tensor([6, 9]).gcd_(L.tensor([4, 6])),
        lambda L: L.tensor([6, 9]).lcm_(L.tensor([4, 6])),
        lambda L: L.gcd(L.tensor([6]), L.tensor([4]), out=L.empty(1, dtype=L.int64)),
        lambda L: L.frexp(L.tensor([3.0, 0.0, -5.0, float("inf"), 1e-45, -0.0, -float("inf"), 3.4e38])),
        lambda L: L.frexp(L.tensor([1e-40, 2.5e300, -7e-320], dtype=L.float64)),
        lambda L: L.tensor([3.0, -0.001], dtype=L.float16).frexp(),
        lambda L: L.tensor([3.0, 1e-40], dtype=L.bfloat16).frexp(),
        lambda L: L.ones(3).set_(L.arange(4.0)),
        lambda L: L.ones(3).set_(),
        lambda L: L.ones(3).set_(L.arange(4.0).untyped_storage(), 1, (2,), (1,)),
        lambda L: L.ones(3).set_(L.arange(4.0), 1, (2,), (2,)),
        lambda L: [isinstance(L.ones(1), L.autograd.Variable), L.autograd.Variable(L.ones(2), requires_grad=True),
                   isinstance(1, L.autograd.Variable)],
        lambda L: [module(L, "nn.modules.utils")._pair(3), module(L, "nn.modules.utils")._triple([1, 2, 3]),
                   module(L, "nn.modules.utils")._single(1), module(L, "nn.modules.utils")._quadruple(0),
                   list(module(L, "nn.modules.utils")._reverse_repeat_tuple((1, 2), 2)),
                   module(L, "nn.modules.utils")._list_with_default([None, 3], [5, 6, 7])],
    ],
)
def test_exact(program):
    same(program)


@pytest.mark.parametrize(
    "program",
    [
        lambda L: L.gcd(L.ones(2), L.ones(2)),
        lambda L: L.lcm(L.tensor([True]), L.tensor([True])),
        lambda L: L.gcd(L.tensor([6]), 4),
        lambda L: L.frexp(L.tensor([3])),
        lambda L: L.cholesky_inverse(L.ones(2, 3)),
        lambda L: L.cholesky_inverse(L.ones(2, 2, dtype=L.int64)),
        lambda L: L.mvlgamma(L.ones(2), 0),
        lambda L: L.ones(2).set_(L.ones(2, dtype=L.int32)),
        lambda L: L.ones(2, requires_grad=True).set_(L.ones(2)),
        lambda L: L.ones(2).set_(3),
        lambda L: L.hinge_embedding_loss(L.ones(2), L.ones(2), reduction="mean"),
    ],
)
def test_refused(program):
    same(program, text="")


def test_set_shares_memory():
    a, b = shunt.ones(3), shunt.arange(4.0)
    assert a.set_(b) is a and a.data_ptr() == b.data_ptr()
    b[0] = 7
    assert a.tolist() == [7.0, 1.0, 2.0, 3.0]


def test_gradients():
    close(lambda L: L.func.grad(lambda t: L.frexp(t).mantissa.sum())(L.tensor([3.0, -0.1, 1e-40])))
    close(lambda L: L.func.grad(lambda t: L.cholesky_inverse(t).sum())(L.tensor([[2.0, 0.0], [0.5, 3.0]])).tril())


def test_random_forms():
    t = shunt.full((1000,), -1.0)
    g = shunt.Generator().manual_seed(1)
    a = shunt.rrelu(t, 0.25, 0.5, True, g)
    b = shunt.rrelu(t, 0.25, 0.5, True, shunt.Generator().manual_seed(1))
    assert a.equal(b) and -0.5 <= a.min().item() < -0.4 and -0.35 < a.max().item() <= -0.25
    kept = shunt.feature_dropout(shunt.ones(50, 4, 3), 0.5, True)
    assert set(kept.flatten().tolist()) == {0.0, 2.0} and bool((kept.amax(2) == kept.amin(2)).all())


def test_set_submodule():
    def program(L, *arguments, **settings):
        model = L.nn.Sequential(L.nn.Linear(1, 1), L.nn.Sequential(L.nn.ReLU()))
        model.set_submodule(*arguments, **settings)
        return [[name, type(m).__name__] for name, m in model.named_modules()]

    for target in ("0", "1.0", "y", "1.y"):
        same(lambda L: program(L, target, L.nn.Tanh()))
    for target in ("y", "1.y"):
        same(lambda L: program(L, target, L.nn.Tanh(), strict=True), text="has no attribute `y`")
    same(lambda L: program(L, "x.y", L.nn.Tanh()), text="has no attribute `x`")
    same(lambda L: program(L, "", L.nn.Tanh()), text="")
    same(lambda L: program(L, "0", 3), text="")


def test_replacing_keeps_the_place():
    def program(L):
        model = L.nn.Module()
        model.a, model.b = L.nn.Linear(1, 1), L.nn.ReLU()
        model.v, model.w = L.nn.Parameter(L.ones(1)), L.nn.Parameter(L.ones(2))
        model.register_buffer("p", L.zeros(1))
        model.register_buffer("q", L.zeros(2), persistent=False)
        model.a, model.v = L.nn.Tanh(), L.nn.Parameter(L.zeros(3))
        model.register_buffer("p", L.ones(1))
        model.q = L.nn.Parameter(L.zeros(4))
        model.x = 3
        model.x = L.nn.Parameter(L.zeros(5))
        model.register_parameter("w", L.nn.Parameter(L.ones(6)))
        return [[list(m) for m in (model._modules, model._parameters, model._buffers)], list(model.state_dict())]

    same(program)
    same(lambda L: L.nn.Linear(1, 1).register_parameter("training", L.nn.Parameter(L.ones(1))), text="training")
    same(lambda L: L.nn.Linear(1, 1).register_buffer("weight", L.ones(1)), text="weight")


def test_stateless():
    close(lambda L: module(L, "nn.utils.stateless").functional_call(
        L.nn.Linear(2, 1), {"weight": L.ones(1, 2), "bias": L.zeros(1)}, L.ones(3, 2)))


def test_prefix():
    def program(L):
        state = L.nn.Sequential(L.nn.Linear(1, 1)).state_dict(prefix="module.")
        module(L, "nn.modules.utils").consume_prefix_in_state_dict_if_present(state, "module.")
        return [list(state), list(state._metadata)]

    same(program)


def test_attention_kernels():
    from shunt.nn.attention import SDPBackend, sdpa_kernel

    q = shunt.ones(1, 1, 2, 4)
    for backends in (SDPBackend.MATH, [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        with sdpa_kernel(backends):
            assert shunt.nn.functional.scaled_dot_product_attention(q, q, q).shape == q.shape
    with pytest.raises(RuntimeError, match="expected SDPBackend.MATH among them"):
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            pass
    with pytest.raises(AssertionError, match="expected an SDPBackend"):
        with sdpa_kernel(3):
            pass
    assert {b.name: int(b) for b in SDPBackend} == {
        name: int(b) for name, b in torch.nn.attention.SDPBackend.__members__.items()}


def test_handles():
    from shunt.utils.hooks import RemovableHandle

    first, second = {}, {}
    handle = RemovableHandle(first, extra_dict=second)
    first[handle.id] = second[handle.id] = 1
    with handle:
        pass
    assert first == second == {}
    assert isinstance(shunt.nn.ReLU().register_forward_hook(print), RemovableHandle)


def test_types():
    from shunt.types import Device, Number

    assert isinstance(1.5, Number) and isinstance("cpu", Device) and isinstance(shunt.device("cpu"), Device)
    assert shunt.distributed.is_available() is False
    with pytest.raises(AttributeError, match="is_available"):
        shunt.distributed.init_process_group


def test_singular():
    with pytest.raises(shunt.linalg.LinAlgError):
        shunt.linalg.inv(shunt.zeros(2, 2))
    assert shunt._C._LinAlgError is shunt.linalg.LinAlgError
