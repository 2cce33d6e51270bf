"""Compiled functions and settings of the thread and the process, each changed before, after and while a function is
recorded: calls are eager code's, and do what they did once the setting is what it was."""

import contextlib
import warnings

import pytest

import shunt
import shunt.nn.functional as F
from compiling import facts, hits, unchecked, warm
from shunt import autograd, distributions, nn
from shunt.overrides import BaseTorchFunctionMode, TorchFunctionMode
from shunt.nn.utils import parametrize
from shunt.utils._python_dispatch import TorchDispatchMode


class Negative(TorchFunctionMode):
    """Negates what exp() gives."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result.neg() if func.__name__ == "exp" else result


class Doubled(TorchDispatchMode):
    """Doubles what exp() gives."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is shunt.ops.aten.exp.default else result


class Handled(shunt.Tensor):
    """Adds 1 to what exp() gives."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        return result.as_subclass(shunt.Tensor) + 1 if func.__name__ == "exp" else result


threads_now = shunt.get_num_threads
handled = shunt.zeros(2).as_subclass(Handled)
weight = shunt.full((2,), 3.0, requires_grad=True)
parametrized = nn.Linear(2, 2)
parametrize.register_parametrization(parametrized, "weight", nn.Tanh())


def exp_and_back(x):
    """exp(), and the gradient that is saved for it."""
    weight.grad = None
    loss = (weight.exp() * x).sum()
    loss.backward()
    return weight.grad.clone()


@contextlib.contextmanager
def set_to(setter, value, before):
    setter(value)
    try:
        yield
    finally:
        setter(before)


@contextlib.contextmanager
def as_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def hooks_that_double():
    return autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t)


def validates(x):
    """An error where parameters are checked, in code that asks for no elements."""
    return x * 2 if distributions.Normal._validate_args else x * 3


# (setting, function, whether calls without the setting run a graph)
SETTINGS = {
    "function mode": (Negative, lambda x: x.exp(), True),
    "function mode that does nothing": (BaseTorchFunctionMode, lambda x: x.exp(), True),
    "no handlers of classes": (shunt._C.DisableTorchFunctionSubclass, lambda x: handled.exp() + x, True),
    "no handlers of classes, not needed": (shunt._C.DisableTorchFunctionSubclass, lambda x: x.exp(), True),
    "no handlers": (shunt._C.DisableTorchFunction, lambda x: handled.exp() + x, True),
    "dispatch mode": (Doubled, lambda x: x.exp(), True),
    "device": (lambda: shunt.device("meta"), lambda x: shunt.ones(2), True),
    "device of zeros and random numbers": (
        lambda: shunt.device("meta"), lambda x: (shunt.zeros(2) + shunt.rand(2) * 0, shunt.tensor([1.5])), None),
    "named device": (lambda: shunt.device("meta"), lambda x: x + shunt.ones(2, device="cpu"), True),
    "set device": (lambda: set_to(shunt.set_default_device, "meta", None), lambda x: shunt.arange(3.0), True),
    "device, asked for": (lambda: shunt.device("meta"),
                          lambda x: x * 2 if shunt.get_default_device().type == "cpu" else x * 3, True),
    "dtype": (lambda: set_to(shunt.set_default_dtype, shunt.float64, shunt.float32), lambda x: shunt.ones(2), True),
    "dtype, asked for": (lambda: set_to(shunt.set_default_dtype, shunt.float64, shunt.float32),
                         lambda x: x.to(shunt.get_default_dtype()), True),
    "tensor type": (lambda: set_to(shunt.set_default_tensor_type, "DoubleTensor", "FloatTensor"),
                    lambda x: shunt.ones(2) * 1.5, True),
    "no_grad": (shunt.no_grad, lambda x: weight * x, True),
    "set_grad_enabled": (lambda: shunt.set_grad_enabled(False),
                         lambda x: x * 2 if shunt.is_grad_enabled() else x * 3, True),
    "inference mode": (shunt.inference_mode, lambda x: x * (2 if shunt.is_inference_mode_enabled() else 3), True),
    "autocast": (lambda: shunt.autocast("cpu"), lambda x: x.reshape(1, 2).mm(weight.reshape(2, 1)), True),
    "autocast, asked for": (lambda: shunt.autocast("cpu"),
                            lambda x: x * (2 if shunt.is_autocast_enabled("cpu") else 3), True),
    "autocast's dtype": (lambda: set_to(lambda d: shunt.set_autocast_dtype("cpu", d), shunt.float16, shunt.bfloat16),
                         lambda x: x.to(shunt.get_autocast_dtype("cpu")), True),
    "autocast's dtype, inside": (
        lambda: set_to(lambda d: shunt.set_autocast_dtype("cpu", d), shunt.float16, shunt.bfloat16),
        lambda x: autocast_product(x), True),
    "threads": (lambda: set_to(shunt.set_num_threads, 3, shunt.get_num_threads()),
                lambda x: x * shunt.get_num_threads(), True),
    "threads, by another name": (lambda: set_to(shunt.set_num_threads, 3, shunt.get_num_threads()),
                                 lambda x: x * threads_now(), True),
    "threads, by a computed name": (lambda: set_to(shunt.set_num_threads, 3, shunt.get_num_threads()),
                                    lambda x: x * getattr(shunt, "get_num_" + "threads")(), True),
    "deterministic": (lambda: set_to(shunt.use_deterministic_algorithms, True, False),
                      lambda x: x * (2 if shunt.are_deterministic_algorithms_enabled() else 3), True),
    "deterministic, by mode": (lambda: set_to(shunt.set_deterministic_debug_mode, "warn", "default"),
                               lambda x: x * (2 + shunt.get_deterministic_debug_mode()), True),
    "precision": (lambda: set_to(shunt.set_float32_matmul_precision, "high", "highest"),
                  lambda x: x * len(shunt.get_float32_matmul_precision()), True),
    "warn_always": (lambda: set_to(shunt.set_warn_always, True, False),
                    lambda x: x * (2 if shunt.is_warn_always_enabled() else 3), True),
    "anomaly": (lambda: autograd.set_detect_anomaly(True), exp_and_back, True),
    "anomaly, asked for": (lambda: autograd.set_detect_anomaly(True),
                           lambda x: x * (2 if shunt.is_anomaly_enabled() else 3), True),
    "anomaly's check, asked for": (lambda: autograd.set_detect_anomaly(False, check_nan=False),
                                   lambda x: x * (2 if shunt.is_anomaly_check_nan_enabled() else 3), True),
    "NaNs in anomaly": (lambda: autograd.set_detect_anomaly(True), lambda x: exp_and_back(x * float("nan")), True),
    "saved tensors": (hooks_that_double, exp_and_back, True),
    "print options": (lambda: shunt._printing.printoptions(precision=2),
                      lambda x: x * shunt._printing.get_printoptions()["precision"], True),
    "text": (lambda: shunt._printing.printoptions(precision=2), lambda x: x * len(str(x * 0.12345)), False),
    "compiled calls": (lambda: set_to(shunt.jit.set_enabled, not shunt.jit.enabled(), shunt.jit.enabled()),
                       lambda x: x * (2 if shunt.jit.enabled() else 3), True),
    "cached parametrizations": (parametrize.cached, lambda x: parametrized(x), True),
    "checked parameters": (lambda: set_to(distributions.Distribution.set_default_validate_args, False, True),
                           validates, True),
    "cuDNN's flags": (lambda: shunt.backends.cudnn.flags(enabled=False, benchmark=True),
                      lambda x: x * (2 if shunt.backends.cudnn.benchmark else 3), True),
    "seed, asked for": (lambda: set_to(shunt.manual_seed, 11, 12), lambda x: x * shunt.initial_seed(), False),
    "seed": (lambda: set_to(shunt.manual_seed, 11, 12), lambda x: x + shunt.rand(2), None),
    "forked random numbers": (shunt.random.fork_rng, lambda x: x + shunt.rand(2), None),
    "warnings are errors": (as_errors, lambda x: F.softmax(x.reshape(1, 2)), False),
}


def autocast_product(x):
    with shunt.autocast("cpu"):
        return x.reshape(1, 2).mm(weight.detach().reshape(2, 1))


def outcome(function, x):
    """What a call gives, or what it raises."""
    shunt.manual_seed(5)
    try:
        result = function(x)
    except Exception as error:
        return type(error).__name__
    return [(str(t.device), t.is_inference(), (t.dtype, tuple(t.shape)) if t.is_meta else facts(t))
            for t in (result if isinstance(result, tuple) else (result,))]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    shunt.set_default_device(None)
    shunt.set_default_dtype(shunt.float32)


@pytest.mark.parametrize("options", [{"check": "never"}, {}], ids=["unchecked", "checked"])
@pytest.mark.parametrize("first", [False, True], ids=["after", "before"])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_changes_between_calls(name, first, options):
    setting, function, _ = SETTINGS[name]
    f = shunt.compile(function, options=options)
    x = shunt.ones(2)
    for phase in range(6):
        with setting() if first != (phase % 2 == 1) else contextlib.nullcontext():
            for call in range(20 if phase == 0 else 4):
                want = outcome(function, x)
                assert outcome(f, x) == want, (phase, call, f.explain())


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_the_function_changes(name):
    setting, function, _ = SETTINGS[name]

    def changes(x):
        with setting():
            return function(x)
    f, x = unchecked(changes), shunt.ones(2)
    for call in range(8):
        want = outcome(changes, x)
        assert outcome(f, x) == want, (call, f.explain())


@pytest.mark.parametrize("name", [name for name, (_, _, records) in SETTINGS.items() if records is not None])
def test_graphs_run_without_the_setting(name):
    setting, function, records = SETTINGS[name]
    f = unchecked(function)
    warm(f, shunt.ones(2), times=6)
    assert (hits(f) > 0) == records, f.explain()
    with setting():
        outcome(f, shunt.ones(2))
    before = hits(f)
    warm(f, shunt.ones(2))
    assert (hits(f) > before) == records, f.explain()


def test_a_setting_that_the_function_leaves_changed():
    for set_inside, ask in ((lambda: shunt.set_num_threads(5), shunt.get_num_threads),
                            (lambda: shunt.set_default_device("meta"), shunt.get_default_device),
                            (lambda: shunt.use_deterministic_algorithms(True),
                             shunt.are_deterministic_algorithms_enabled),
                            (lambda: shunt.set_printoptions(precision=2), shunt._printing.get_printoptions),
                            (lambda: shunt.set_default_dtype(shunt.float64), shunt.get_default_dtype)):
        def function(x):
            set_inside()
            return x * 2
        f = unchecked(function)
        before, (threads, x) = ask(), (shunt.get_num_threads(), shunt.ones(2))

        def reset():
            shunt.set_num_threads(threads)
            shunt.set_default_device(None)
            shunt.use_deterministic_algorithms(False)
            shunt.set_printoptions(profile="default")
            shunt.set_default_dtype(shunt.float32)
        set_inside()
        after = ask()
        assert after != before
        for call in range(12):
            if call % 5 != 4:
                reset()
            f(x)
            assert ask() == after, (call, f.explain())
        reset()


def test_explain_names_the_mode():
    f, x = unchecked(lambda x: x.exp()), shunt.zeros(1)
    warm(f, x, times=40)
    with Negative():
        assert f(x).item() == -1
        assert f(x).item() == -1
    with shunt._C.DisableTorchFunctionSubclass():
        assert f(x).item() == 1
    assert f(x).item() == 1 and hits(f) == 39
    assert "2 calls ran the function: a TorchFunctionMode was on\n" in f.explain() + "\n"
    assert ("1 call ran the function: handlers of calls were off (DisableTorchFunctionSubclass, DisableTorchFunction)\n"
            in f.explain() + "\n")


def test_nothing_is_recorded_in_a_function_mode():
    f, x = unchecked(lambda x: x.exp()), shunt.zeros(1)
    with Negative():
        for _ in range(40):
            assert f(x).item() == -1
    assert not f._specializations and f.counts()["recorded"] == 0
    assert f(x).item() == 1


def test_a_mode_that_the_function_leaves_on():
    def function(x):
        Negative().__enter__()
        return x * 2
    f = unchecked(function)
    with pytest.warns(UserWarning, match="when the function had returned, a TorchFunctionMode was on"):
        for _ in range(6):
            f(shunt.ones(1))
            assert shunt._C._len_torch_function_stack() > 0
            while shunt._C._len_torch_function_stack() > 0:
                shunt._C._pop_torch_function_stack()
    assert hits(f) == 0


def test_a_mode_on_another_thread_is_not_this_one_s():
    import threading
    f, x = unchecked(lambda x: x.exp()), shunt.zeros(1)
    entered, done = threading.Event(), threading.Event()

    def other():
        with Negative():
            entered.set()
            done.wait(60)
    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(60)
    warm(f, x, times=10)
    done.set()
    thread.join()
    assert hits(f) == 8, f.explain()


def test_a_function_in_a_handler_is_compiled():
    f = unchecked(lambda x: x * 3)

    class Through(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return f(func(*args, **(kwargs or {})))
    for _ in range(10):
        with Through():
            x = shunt.ones(2)
        assert x.tolist() == [3.0, 3.0]
    assert hits(f) == 8, f.explain()
