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
        lambda L: L.special.multigammaln(L.tensor([3.5, 10.0]), 2),
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


def test_state_hooks_of_optimizers():
    def program(L):
        seen = []
        optimizer = L.optim.SGD([L.ones(1, requires_grad=True)], lr=0.1)
        optimizer.register_state_dict_pre_hook(lambda *given: seen.append(["pre", len(given)]))
        optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
        optimizer.register_state_dict_post_hook(lambda o, state: seen.append(["post", list(state)]), prepend=True)
        first = optimizer.register_load_state_dict_pre_hook(lambda o, state: state.pop("more") and None)
        optimizer.register_load_state_dict_post_hook(lambda *given: seen.append(["loaded", len(given)]))
        state = optimizer.state_dict()
        optimizer.load_state_dict(state)
        first.remove()
        return [seen, list(state)]

    same(program)


def test_paths():
    import collections
    P = collections.namedtuple("P", "a b")
    tree = {"a": [1, (2, 3)], "b": None, "c": P(1, 2), "d": collections.deque([3])}

    def program(L):
        pytree = module(L, "utils._pytree")
        found = pytree.tree_leaves_with_path(tree)
        mapped = pytree.tree_map_with_path(lambda path, leaf, *more: (pytree.keystr(path), leaf, *more), [1, {"k": 2}],
                                           [3, {"k": 4}])
        return [[pytree.keystr(path), leaf, [type(key).__name__ for key in path], pytree.key_get(tree, path)]
                for path, leaf in found] + [mapped]

    same(program)


def test_marks_of_torchscript():
    def f():
        return 3

    jit = shunt.jit
    assert jit.ignore(f) is jit.unused(f) is jit.export(f) is jit.ignore()(f) is jit.ignore(drop=True)(f) is f
    assert not jit.is_scripting() and not jit.is_tracing()


def test_flops():
    def program(L):
        FlopCounterMode = module(L, "utils.flop_counter").FlopCounterMode
        nn, counts = L.nn, []
        q = L.ones(1, 2, 3, 4, requires_grad=True)
        for f in (lambda: nn.Linear(3, 4)(L.ones(2, 3)).sum().backward(),
                  lambda: nn.Linear(3, 4)(L.ones(2, 2, 3)).sum().backward(),
                  lambda: nn.Conv2d(4, 2, 3, padding=1, groups=2)(L.ones(2, 4, 5, 6, requires_grad=True)).sum()
                  .backward(),
                  lambda: nn.ConvTranspose2d(2, 3, 3)(L.ones(2, 2, 5, 4, requires_grad=True)).sum().backward(),
                  lambda: nn.Conv1d(1, 2, 3)(L.ones(1, 1, 5)),
                  lambda: L.ones(2, 2, 3) @ L.ones(2, 3, 1),
                  lambda: L.ones(3) + 1):
            with FlopCounterMode(display=False) as counter:
                f()
            counts.append(counter.get_total_flops())
            counts.append({str(op): n for op, n in counter.get_flop_counts().get("Global", {}).items()})
        return counts

    same(program)


def test_flops_of_modules(capsys):
    from shunt.utils.flop_counter import FlopCounterMode

    model = shunt.nn.Sequential(shunt.nn.Linear(3, 4), shunt.nn.ReLU(), shunt.nn.Linear(4, 2))
    mine = {shunt.ops.aten.relu: lambda x_shape, out_shape: 100}
    with FlopCounterMode(model, custom_mapping=mine) as counter:
        model(shunt.ones(2, 3))
    addmm, relu = shunt.ops.aten.addmm, shunt.ops.aten.relu
    assert counter.get_flop_counts() == {
        "Global": {addmm: 80, relu: 100}, "Sequential": {addmm: 80, relu: 100}, "Sequential.0": {addmm: 48},
        "Sequential.1": {relu: 100}, "Sequential.2": {addmm: 32}}
    assert "Sequential.2" in capsys.readouterr().out


def test_timer():
    from shunt.utils.benchmark import Timer

    calls = []
    timer = Timer("calls.append(f(x))", setup="y = 1", global_setup="z = 1", globals={"calls": calls, "f": abs, "x": -1},
                  label="abs")
    result = timer.timeit(200)
    assert len(calls) == 202 and result.number_per_run == 200 and 0 < result.median == result.mean < 1
    assert "abs" in repr(result)
    blocks = timer.blocked_autorange(min_run_time=0.01)
    assert sum(blocks.raw_times) >= 0.01 and blocks.iqr >= 0 and len(blocks.times) == len(blocks.raw_times)
    assert timer.adaptive_autorange(max_run_time=0.02).median > 0


def test_cross_map():
    for size, channels in ((3, 4), (4, 7), (5, 3), (1, 3)):
        close(lambda L: L.nn.CrossMapLRN2d(size, 0.01, 0.75, 2)(L.arange(1.0, 1.0 + 4 * channels)
                                                               .view(1, channels, 2, 2)))
    same(lambda L: repr(L.nn.CrossMapLRN2d(3)))
    same(lambda L: L.nn.CrossMapLRN2d(3)(L.ones(2, 2, 2)), text="4D")


def adaptive(L, bias=True):
    model = L.nn.AdaptiveLogSoftmaxWithLoss(5, 20, [4, 10], div_value=2.0, head_bias=bias)
    with L.no_grad():
        for k, p in enumerate(model.parameters()):
            p.copy_((L.arange(p.numel()).view(p.shape) * (k + 1) % 7 - 3.0) / 5)
    return model


def test_adaptive_softmax():
    x = lambda L: L.arange(20.0).view(4, 5) / 20  # noqa: E731
    for targets in ([0, 5, 19, 3], [12, 12, 11, 4], [1, 2, 3, 0]):
        close(lambda L: list(adaptive(L)(x(L), L.tensor(targets))))
    close(lambda L: list(adaptive(L)(x(L)[0], L.tensor(5))))
    close(lambda L: [adaptive(L).log_prob(x(L)), adaptive(L, False).predict(x(L))])
    same(lambda L: [repr(adaptive(L)), [[n, list(p.shape)] for n, p in adaptive(L).named_parameters()]])

    def gradients(L):
        model = adaptive(L)
        model(x(L), L.tensor([0, 5, 19, 3])).loss.backward()
        return [p.grad for p in model.parameters()]

    close(gradients)
    for cutoffs in ([], [20], [10, 4], [4, 4], [0, 4], [1.5]):
        same(lambda L: L.nn.AdaptiveLogSoftmaxWithLoss(5, 20, cutoffs), text="cutoffs")
    for given, target in (((3, 5), [0, 5]), ((2, 5), [0, 20]), ((2, 5), [-1, 2]), ((5,), [1]), ((1, 1, 5), [1])):
        same(lambda L: adaptive(L)(L.ones(given), L.tensor(target)), text="")


def test_clone_state():
    generator = shunt.Generator().manual_seed(3)
    shunt.rand(5, generator=generator)
    copy = generator.clone_state()
    assert shunt.rand(9, generator=copy).equal(shunt.rand(9, generator=generator))
    assert copy.initial_seed() == 3 and not shunt.rand(9, generator=copy).equal(shunt.rand(9, generator=copy))
