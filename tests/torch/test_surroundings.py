"""Modes and settings around a call: another one is another recording, or the call runs as it is."""

import contextlib

import pytest
import shunt_torch
import torch
from capturing import check_captured, model_and_optimizer, program, recordings, same_as_eager, state_of
from torch.utils._python_dispatch import TorchDispatchMode


@contextlib.contextmanager
def switched(setter, value, before):
    setter(value)
    try:
        yield
    finally:
        setter(before)


def of_model():
    model = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()

    def step(x):
        with torch.no_grad():
            y = model(x)
        return y, torch.zeros(2), x.sum() + torch.full((), 0.1), torch.empty(2).zero_()

    return program(step)


class Halves(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return out / 2 if func is torch.ops.aten.add.Tensor else out


class Names(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return out * 2 if func is torch.full else out


def profiled():
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])


MODES = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "enable_grad": torch.enable_grad,
    "dispatch mode": Halves,
    "function mode": Names,
    "device": lambda: torch.device("cpu"),
    "anomaly": torch.autograd.detect_anomaly,
    "saved-tensor hooks": lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "autocast without cache": lambda: torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False),
    "autocast to half": lambda: torch.autocast("cpu", dtype=torch.float16, cache_enabled=False),
    "profiler": profiled,
    "default dtype": lambda: switched(torch.set_default_dtype, torch.float64, torch.float32),
    "deterministic": lambda: switched(torch.use_deterministic_algorithms, True, False),
    "matmul precision": lambda: switched(torch.set_float32_matmul_precision, "medium", "highest"),
    "threads": lambda: switched(torch.set_num_threads, 2, 1),
    "flush denormal": lambda: switched(torch.set_flush_denormal, True, False),
    "mkldnn": lambda: torch.backends.mkldnn.flags(enabled=False),
    "attention": lambda: torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
    "fast path": lambda: switched(torch.backends.mha.set_fastpath_enabled, False, True),
    "no torch function": torch._C.DisableTorchFunctionSubclass,
    "dual level": torch.autograd.forward_ad.dual_level,
    "functionalization": lambda: contextlib.nullcontext(),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.filterwarnings("ignore")
def test_around(mode):
    torch.set_num_threads(1)

    def drive(p):
        out = []
        for i in range(15):
            x = torch.randn(2, 3, 8, dtype=torch.float32) * (1e-38 if mode == "flush denormal" else 1)
            with MODES[mode]() if i // 5 % 2 else contextlib.nullcontext():
                out.append(p.step(x))
        return out

    captured = same_as_eager(of_model, drive)
    assert recordings(captured) >= 1, captured.explain()


@pytest.mark.parametrize("mode", ["no_grad", "anomaly", "saved-tensor hooks", "profiler", "threads", "deterministic", "autocast without cache"])
@pytest.mark.filterwarnings("ignore")
def test_around_training(mode):
    torch.set_num_threads(1)

    def make():
        p = model_and_optimizer()
        step = p.step

        def with_grad(x):
            with torch.enable_grad():
                return step(x)

        p.step = with_grad
        return p

    def drive(p):
        out = []
        for i in range(15):
            with MODES[mode]() if i // 5 % 2 else contextlib.nullcontext():
                out.append((p.step(torch.randn(5, 3)), state_of(p)))
        return out

    captured = same_as_eager(make, drive)
    assert recordings(captured) >= 1, captured.explain()


@pytest.mark.parametrize("mode", ["no_grad", "autocast", "default dtype", "deterministic", "anomaly"])
@pytest.mark.filterwarnings("ignore")
def test_entered_inside(mode):
    model = torch.nn.Linear(3, 3)

    def step(x):
        with MODES[mode]():
            return model(x).detach() * 2 + torch.full((3,), 1.0)

    same_as_eager(lambda: program(step), lambda p: [p.step(torch.randn(2, 3)) for _ in range(8)])


CHANGED = {
    "grad mode": (torch.set_grad_enabled, False, True),
    "default dtype": (torch.set_default_dtype, torch.float64, torch.float32),
    "threads": (torch.set_num_threads, 2, 1),
    "deterministic algorithms": (torch.use_deterministic_algorithms, True, False),
    "torch.backends.mha._is_fastpath_enabled": (torch.backends.mha.set_fastpath_enabled, False, True),
}


@pytest.mark.parametrize("name", CHANGED)
def test_changed_by_the_call(name):
    setter, inside, outside = CHANGED[name]

    def step(x):
        setter(inside)
        return x * 2

    captured = shunt_torch.capture(step)
    try:
        for _ in range(4):
            setter(outside)
            captured(torch.ones(2))
    finally:
        setter(outside)
    assert not captured._recordings and f"{name}" in str(captured._refusal) and "the call changes" in str(captured._refusal), captured.explain()


def test_profiles_show_operators_of_the_function():
    def drive(p):
        names = []
        for i in range(12):
            if i in (7, 11):
                with profiled() as profile:
                    p.step(torch.ones(4, 3))
                names.append("aten::addmm" in {e.name for e in profile.events()})
            else:
                p.step(torch.ones(4, 3))
        return names

    assert check_captured(same_as_eager(model_and_optimizer, drive), 3)


def test_marks_of_profilers_are_no_operators():
    def make():
        p = model_and_optimizer()
        step = p.step

        def marked(x):
            with torch.profiler.record_function("step"):
                return step(x)

        p.step = marked
        return p

    def drive(p):
        return [(p.step(torch.randn(5, 3)), state_of(p)) for _ in range(8)]

    check_captured(same_as_eager(make, drive), 4)


@pytest.mark.filterwarnings("ignore")
def test_kernels_registered_later():
    def drive(p):
        out = [p.step(torch.ones(2)) for _ in range(7)]
        library = torch.library.Library("aten", "IMPL")
        library.impl("mul.Tensor", lambda a, b: torch.full_like(a, 42.0), "CPU")
        try:
            out += [p.step(torch.ones(2)) for _ in range(7)]
        finally:
            library._destroy()
        return out + [p.step(torch.ones(2)) for _ in range(4)]

    check_captured(same_as_eager(lambda: program(lambda x: x * 3 + 1), drive), 5, given_up="a kernel for aten::mul was registered from Python")


def test_operators_of_the_user():
    with torch.library._scoped_library("shunt_torch_test", "FRAGMENT") as library:
        library.define("halve(Tensor x) -> Tensor")
        calls = []

        def halve(x):
            calls.append(1)
            return x / 2

        library.impl("halve", halve, "CPU")

        def drive(p):
            return [p.step(torch.randn(3)) for _ in range(8)]

        same_as_eager(lambda: program(lambda x: torch.ops.shunt_torch_test.halve(x + 1) * 2), drive)


def test_warnings_are_the_function_s():
    import warnings

    captured = shunt_torch.capture(lambda x: x.item())
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(8):
            captured(torch.ones(1))
    (warning,) = seen
    assert warning.filename == __file__
    assert "runs as it does without capture" in str(warning.message)


@pytest.mark.parametrize("operators", ["conv", "rnn"])
def test_precision_of_onednn(operators):
    captured = shunt_torch.capture(lambda x: x * 2)
    for _ in range(5):
        captured(torch.ones(2))
    settings = getattr(torch.backends.mkldnn, operators)
    before = settings.fp32_precision
    settings.fp32_precision = "bf16"
    try:
        captured(torch.ones(2))
    finally:
        settings.fp32_precision = before
    assert captured._misses[-1].startswith("oneDNN's"), captured.explain()
