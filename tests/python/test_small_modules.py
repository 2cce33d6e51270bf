"""Small modules that programs import: testing, backends, random, multiprocessing, amp's GradScaler, settings,
windows."""

import importlib
import math
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import shunt  # noqa: E402
from twins import close, same  # noqa: E402


@pytest.mark.parametrize(
    "name",
    [
        "backends.cudnn",
        "backends.mps",
        "backends.cuda",
        "backends.mkl",
        "version",
        "random",
        "testing",
        "multiprocessing",
        "cuda.amp",
        "amp.grad_scaler",
        "utils.data.dataset",
        "utils.data.distributed",
        "distributions.normal",
        "distributions.kl",
        "optim.lr_scheduler",
        "optim.swa_utils",
    ],
)
def test_modules_are_found(name):
    assert importlib.import_module(f"shunt.{name}").__doc__
    found = shunt
    for part in name.split("."):
        found = getattr(found, part)
    assert found is importlib.import_module(f"shunt.{name}")


@pytest.mark.parametrize(
    "program",
    [
        lambda L: [L.inf, L.pi, L.e, L.newaxis, math.isnan(L.nan)],
        lambda L: L.ones(3)[L.newaxis].shape,
        lambda L: [L.backends.mps.is_available(), L.backends.cuda.is_built(), L.version.cuda, L.version.hip],
        lambda L: L.are_deterministic_algorithms_enabled(),
        lambda L: L.use_deterministic_algorithms("yes"),
        lambda L: L.get_float32_matmul_precision(),
        lambda L: L.set_float32_matmul_precision("low"),
        lambda L: L._assert(L.tensor(False), "no"),
        lambda L: L.typename(3),
        lambda L: L.vmap(lambda x: x * 2)(L.arange(3)),
        lambda L: L.set_default_tensor_type("torch.LongTensor"),
        lambda L: L.set_deterministic_debug_mode("never"),
    ],
)
def test_questions_are_answered_as_pytorch_does(program):
    same(program, text="")


def test_settings_are_kept():
    shunt.backends.cudnn.benchmark = True
    assert shunt.backends.cudnn.benchmark is True
    with shunt.backends.cudnn.flags(enabled=False, deterministic=True):
        assert shunt.backends.cudnn.deterministic is True and shunt.backends.cudnn.benchmark is False
    assert shunt.backends.cudnn.benchmark is True and shunt.backends.cudnn.deterministic is False
    shunt.backends.cudnn.benchmark = False
    shunt.set_float32_matmul_precision("high")
    assert shunt.get_float32_matmul_precision() == "high"
    shunt.set_float32_matmul_precision("highest")
    shunt.set_deterministic_debug_mode("warn")
    assert shunt.get_deterministic_debug_mode() == 1 and shunt.is_deterministic_algorithms_warn_only_enabled()
    shunt.use_deterministic_algorithms(False)
    shunt.set_default_tensor_type("torch.DoubleTensor")
    assert shunt.ones(1).dtype is shunt.float64
    shunt.set_default_tensor_type("torch.FloatTensor")


def test_fork_rng():
    shunt.manual_seed(4)
    expected = shunt.rand(2).tolist()
    shunt.manual_seed(4)
    with shunt.random.fork_rng():
        shunt.rand(100)
        shunt.manual_seed(9)
    assert shunt.rand(2).tolist() == expected
    with shunt.random.fork_rng(enabled=False):
        shunt.manual_seed(4)
    assert shunt.rand(2).tolist() == expected


@pytest.mark.parametrize(
    "name", ["hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"]
)
def test_windows(name):
    for length in (0, 1, 2, 9):
        for periodic in (True, False):
            close(lambda L: getattr(L, name)(length, periodic))
    close(lambda L: getattr(L, name)(7, dtype=L.float64))
    same(lambda L: getattr(L, name)(-1), text=name)
    same(lambda L: getattr(L, name)(3, dtype=L.int64), text="")


EQUAL = [
    lambda L: (L.ones(3), L.ones(3) + 1e-7),
    lambda L: (L.tensor(1), L.tensor(1)),
    lambda L: (1.0, 1.0 + 1e-9),
    lambda L: (3, 3),
    lambda L: ([L.ones(2), 3.0], [L.ones(2), 3.0]),
    lambda L: ({"a": L.ones(2)}, {"a": L.ones(2)}),
    lambda L: (None, None),
    lambda L: (np.ones(2), np.ones(2)),
    lambda L: (L.zeros(0), L.zeros(0)),
    lambda L: (L.tensor(math.inf), L.tensor(math.inf)),
]
DIFFERENT = [
    lambda L: (L.ones(3), L.tensor([1.0, 2.0, 1.5])),
    lambda L: (L.ones(2, 2), L.tensor([[1.0, 1.0], [4.0, 1.0]])),
    lambda L: (L.tensor([1, 2]), L.tensor([1, 5])),
    lambda L: (L.ones(3), L.ones(2)),
    lambda L: (L.ones(3), L.ones(3, dtype=L.float64)),
    lambda L: (1.0, 2.0),
    lambda L: (1, 2),
    lambda L: (1, 1.0),
    lambda L: ([1, 2], [1, 3]),
    lambda L: ([1], [1, 2]),
    lambda L: ({"a": 1}, {"b": 1}),
    lambda L: ({"a": [L.ones(1)]}, {"a": [L.zeros(1)]}),
    lambda L: (None, 1),
    lambda L: ("a", "a"),
    lambda L: (L.tensor(math.nan), L.tensor(math.nan)),
    lambda L: (L.tensor(1.0), L.tensor(3.0)),
    lambda L: (L.ones(1), 1.0),
    lambda L: (L.tensor([True]), L.tensor([False])),
]


@pytest.mark.parametrize("pair", EQUAL)
def test_assert_close_of_equals(pair):
    for library in (torch, shunt):
        library.testing.assert_close(*pair(library))


def outcome(library, pair, **settings):
    with pytest.raises((AssertionError, TypeError, ValueError)) as caught:
        library.testing.assert_close(*pair(library), **settings)
    return type(caught.value), str(caught.value)


def same_numbers(ours, theirs):
    """Types of errors are the same, and so are the numbers in their texts: counts, differences, places, tolerances."""
    found = [(kind, sorted(re.findall(r"\d[\d.e+-]*\d|\d|\binf\b|\bnan\b", text))) for kind, text in (ours, theirs)]
    assert found[0] == found[1], (ours, theirs)


@pytest.mark.parametrize("pair", DIFFERENT)
def test_assert_close_says_what_differs_as_pytorch_does(pair):
    same_numbers(outcome(shunt, pair), outcome(torch, pair))


def test_settings_of_assert_close():
    x, y = shunt.ones(2), shunt.ones(2) + 0.01
    shunt.testing.assert_close(x, y, rtol=0, atol=0.1)
    shunt.testing.assert_close(x, x.double(), check_dtype=False)
    shunt.testing.assert_close(shunt.tensor(math.nan), shunt.tensor(math.nan), equal_nan=True)
    assert outcome(shunt, lambda L: (x, y), msg="mine") == (AssertionError, "mine")
    assert outcome(shunt, lambda L: (x, y), msg=lambda text: text[:14])[1] == "tensors differ"
    assert outcome(shunt, lambda L: (x, y), rtol=0)[0] is ValueError
    strided = outcome(shunt, lambda L: (L.ones(2, 3), L.ones(3, 2).T), check_stride=True)
    same_numbers(strided, outcome(torch, lambda L: (L.ones(2, 3), L.ones(3, 2).T), check_stride=True))


def test_make_tensor():
    for dtype in (shunt.float32, shunt.bfloat16, shunt.int64, shunt.uint8, shunt.bool):
        x = shunt.testing.make_tensor(3, 4, dtype=dtype, device="cpu")
        assert x.shape == (3, 4) and x.dtype is dtype
    x = shunt.testing.make_tensor((50,), dtype=shunt.float64, device="cpu", low=2, high=3, requires_grad=True)
    assert x.requires_grad and bool(((x >= 2) & (x <= 3)).all())
    assert not shunt.testing.make_tensor((4, 4), dtype=shunt.float32, device="cpu", noncontiguous=True).is_contiguous()
    assert bool(
        (shunt.testing.make_tensor(100, dtype=shunt.int64, device="cpu", low=0, high=2, exclude_zero=True) == 1).all()
    )
    same(lambda L: L.testing.make_tensor(2, dtype=L.int64, device="cpu", requires_grad=True), text="requires_grad")
    same(lambda L: L.testing.make_tensor(2, dtype=L.float32, device="cpu", low=3, high=1), text="low")


def scaled_training(library, losses):
    p = library.ones(2, requires_grad=True)
    optimizer = library.optim.SGD([p], lr=0.5)
    scaler = library.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    seen = []
    for factor in losses:
        optimizer.zero_grad()
        scaler.scale((p * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        seen.append((p.tolist(), scaler.get_scale()))
    return seen, scaler.state_dict()


def test_grad_scaler_trains_as_pytorchs():
    losses = [1.0, 1.0, math.inf, 1.0, 1.0, 1.0]
    assert scaled_training(shunt, losses) == scaled_training(torch, losses)


@pytest.mark.filterwarnings("ignore")
def test_grad_scaler_without_cuda_does_nothing():
    for make in (
        lambda L: L.amp.GradScaler(),
        lambda L: L.cuda.amp.GradScaler(),
        lambda L: L.amp.GradScaler("cpu", enabled=False),
    ):
        for library in (torch, shunt):
            scaler, loss = make(library), library.ones(1)
            assert (
                not scaler.is_enabled()
                and scaler.scale(loss) is loss
                and scaler.get_scale() == 1.0
                and scaler.state_dict() == {}
            )
            scaler.update()


def test_what_grad_scaler_refuses():
    def twice(L):
        p = L.ones(1, requires_grad=True)
        p.grad = L.ones(1)
        optimizer, scaler = L.optim.SGD([p], lr=1.0), L.amp.GradScaler("cpu")
        scaler.scale(L.ones(1))
        scaler.unscale_(optimizer)
        scaler.unscale_(optimizer)

    def step_without_gradients(L):
        scaler = L.amp.GradScaler("cpu")
        scaler.scale(L.ones(1))
        scaler.step(L.optim.SGD([L.ones(1, requires_grad=True)], lr=1.0))

    def update_without_gradients(L):
        scaler = L.amp.GradScaler("cpu")
        scaler.scale(L.ones(1))
        scaler.unscale_(L.optim.SGD([L.ones(1, requires_grad=True)], lr=1.0))
        scaler.update()

    same(twice, text="unscale_()")
    same(step_without_gradients, text="")
    same(update_without_gradients, text="")
    same(lambda L: L.amp.GradScaler("cpu").update(), text="")
    same(lambda L: L.amp.GradScaler("cpu", growth_factor=0.5), text="")


def test_default_device():
    with shunt.device("meta"):
        assert shunt.ones(2).is_meta
    assert shunt.get_default_device() == shunt.device("cpu")
