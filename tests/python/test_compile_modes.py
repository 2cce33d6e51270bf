"""Compiled functions among modes, autocast, transforms, hooks, modules and optimisers."""

import pytest

import shunt
import shunt.nn.functional as F
from compiling import compiled, facts, hits, unchecked, warm
from shunt import nn, optim
from shunt.utils._python_dispatch import TorchDispatchMode


class Logging(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def function(x):
    return (x * 2 + 1).relu()


def test_a_mode_outside_sees_every_operator():
    f = unchecked(function)
    x = shunt.randn(3)
    warm(f, x)
    before = hits(f)
    with Logging() as eager:
        want = function(x)
    with Logging() as mode:
        got = f(x)
    assert mode.seen == eager.seen and len(mode.seen) == 3
    assert facts(got) == facts(want) and hits(f) == before
    f(x)
    assert hits(f) == before + 1


def test_a_function_that_enters_a_mode_runs_as_it_is():
    seen = []

    def inside(x):
        with Logging() as mode:
            y = x * 2
        seen.append(len(mode.seen))
        return y
    f = shunt.compile(inside, options={"check": "never"})
    with pytest.warns(UserWarning):
        got = warm(f, shunt.ones(3), times=6)
    assert got.tolist() == [2.0] * 3 and hits(f) == 0 and seen[-1] == 1


def test_a_first_call_inside_a_mode_is_not_watched():
    f = unchecked(function)
    with Logging():
        warm(f, shunt.randn(3), times=5)
    assert hits(f) == 0 and not f._specializations
    warm(f, shunt.randn(3))
    assert hits(f) == 1


def test_autocast_inside_and_outside():
    a, b = shunt.randn(4, 4), shunt.randn(4, 4)

    def product(a):
        return a.mm(b) + 1

    def inside(a):
        with shunt.amp.autocast("cpu", dtype=shunt.bfloat16):
            return a.mm(b) + 1
    for f, g in ((unchecked(product), product), (unchecked(inside), inside)):
        warm(f, a)
        assert facts(f(a)) == facts(g(a))
        with shunt.amp.autocast("cpu", dtype=shunt.bfloat16):
            assert facts(warm(f, a)) == facts(g(a)) and f(a).dtype == shunt.bfloat16
        assert facts(f(a)) == facts(g(a))
        assert hits(f) >= 4, f.explain()


def test_inference_mode():
    f = unchecked(function)
    x = shunt.randn(3)
    with shunt.inference_mode():
        got = warm(f, x, times=4)
    assert got.is_inference() and hits(f) == 2
    assert not warm(f, x, times=4).is_inference()


def test_fake_tensors_run_the_function():
    from shunt._subclasses.fake_tensor import FakeTensorMode
    f = unchecked(function)
    warm(f, shunt.randn(3))
    before = hits(f)
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(shunt.randn(3))
        assert f(fake).shape == (3,)
    assert hits(f) == before


def test_subclasses_with_handlers_run_the_function():
    class Wrapper(shunt.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(getattr(func, "__name__", str(func)))
            return super().__torch_function__(func, types, args, kwargs or {})
    calls = []
    x = shunt.Tensor._make_subclass(Wrapper, shunt.randn(3))
    f = unchecked(function)
    warm(f, x, times=5)
    assert hits(f) == 0 and calls


def test_hooks_run():
    seen = []
    w = shunt.randn(3, requires_grad=True)
    w.register_hook(lambda g: seen.append(g.tolist()))
    f = unchecked(lambda x: (x * w).sum())
    for n in range(5):
        f(shunt.ones(3)).backward()
        assert len(seen) == n + 1


def test_a_result_with_a_graph_from_outside():
    w = shunt.randn(3, requires_grad=True)
    f = unchecked(lambda x: x.tanh() * 2)
    for _ in range(5):
        w.grad = None
        f(w * 3).sum().backward()
    got = facts(w.grad)
    w.grad = None
    ((w * 3).tanh() * 2).sum().backward()
    assert hits(f) >= 3 and facts(w.grad) == got


def test_gradients_of_gradients():
    f = unchecked(lambda x: (x ** 3).sum())
    x = shunt.randn(3, requires_grad=True)
    for _ in range(5):
        first, = shunt.autograd.grad(f(x), x, create_graph=True)
        second, = shunt.autograd.grad(first.sum(), x)
    want, = shunt.autograd.grad((x ** 3).sum(), x, create_graph=True)
    assert facts(first)[0] == facts(want)[0]
    assert second.tolist() == shunt.autograd.grad(want.sum(), x)[0].tolist()


def make(kind, **settings):
    shunt.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    return model, getattr(optim, kind)(model.parameters(), lr=0.01, **settings)


@pytest.mark.parametrize("kind, settings", [
    ("SGD", {}), ("SGD", {"momentum": 0.9, "nesterov": True}), ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("Adam", {}), ("Adam", {"capturable": True}), ("AdamW", {"amsgrad": True}), ("Adagrad", {"lr_decay": 0.1}),
    ("Adadelta", {}),
    ("Adam", {"weight_decay": 0.1, "maximize": True}), ("NAdam", {}), ("RAdam", {}), ("Adamax", {}), ("Rprop", {}),
])
def test_optimisers_are_part_of_graphs(kind, settings):
    found = []
    for wrap in (lambda f: f, unchecked, compiled):
        model, optimizer = make(kind, **settings)
        xs, ys = shunt.randn(6, 5, 4), shunt.randn(6, 5, 2)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()
        step = wrap(step)
        losses = [step(xs[i % 6], ys[i % 6]).item() for i in range(14)]
        found.append((losses, [facts(p) for p in model.parameters()]))
        if wrap is unchecked:
            assert hits(step) >= 8, step.explain()
    assert found[0] == found[1] == found[2]


def test_an_optimiser_that_counts_in_python_is_refused_by_name():
    class Counting(optim.SGD):
        def _update(self, params, grads, states, group):
            states[0]["count"] = states[0].get("count", 0) + 1
            super()._update(params, grads, states, group)

    model = nn.Linear(4, 2)
    optimizer = Counting(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    f = unchecked(step)
    with pytest.warns(UserWarning, match="count"):
        warm(f, shunt.randn(5, 4), times=6)
    assert hits(f) == 0


@pytest.mark.parametrize("kind", ["SGD", "Adam", "RMSprop", "Adagrad", "Adadelta"])
def test_a_schedule_of_a_rate_that_is_a_tensor(kind):
    found = []
    for wrap, lr in ((lambda f: f, shunt.tensor(0.01)), (unchecked, shunt.tensor(0.01)), (lambda f: f, 0.01)):
        shunt.manual_seed(1)
        model = nn.Linear(4, 2)
        optimizer = getattr(optim, kind)(model.parameters(), lr=lr)
        schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

        def step(x):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        step, x = wrap(step), shunt.linspace(-1, 1, 20).reshape(5, 4)
        for _ in range(12):
            step(x)
            schedule.step()
        if wrap is unchecked:
            assert hits(step) >= 8, step.explain()
        found.append((model.weight.tolist(), [float(lr) for lr in schedule.get_last_lr()]))
    assert found[0] == found[1]
    assert found[1][0] == [pytest.approx(row, rel=1e-5) for row in found[2][0]]
    assert found[1][1] == pytest.approx(found[2][1], rel=1e-6)


def test_a_learning_rate_that_changes():
    model, optimizer = make("SGD")
    other, other_optimizer = make("SGD")

    def step_of(model, optimizer):
        def step(x):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        return step
    f, g = unchecked(step_of(model, optimizer)), step_of(other, other_optimizer)
    x = shunt.randn(5, 4)
    for i in range(40):
        for o in (optimizer, other_optimizer):
            o.param_groups[0]["lr"] = 0.01 if i < 20 else 0.001
        f(x)
        g(x)
    assert [facts(p) for p in model.parameters()] == [facts(p) for p in other.parameters()]
    assert hits(f) > 30


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.drop = nn.Dropout(0.5)
        self.scale = 2.0

    def forward(self, x):
        return self.drop(self.inner(x)) * self.scale


def test_modules_are_compiled():
    block = Block()
    f = unchecked(block)
    x = shunt.randn(5, 3)
    shunt.manual_seed(4)
    got = [facts(f(x)) for _ in range(6)]
    shunt.manual_seed(4)
    assert got == [facts(block(x)) for _ in range(6)] and hits(f) == 4
    block.eval()
    assert facts(warm(f, x)) == facts(block(x))
    block.scale = 3.0
    assert facts(warm(f, x)) == facts(block(x))
    with shunt.no_grad():
        block.inner.weight.fill_(1.0)
    assert facts(f(x)) == facts(block(x))
    block.inner = nn.Linear(3, 3)
    assert facts(warm(f, x)) == facts(block(x))
    assert hits(f) >= 8 and [name.removeprefix("_orig_mod.") for name in f.state_dict()] == list(block.state_dict())


def test_functional_calls_in_a_graph():
    from shunt.func import functional_call, grad, vmap
    model = nn.Linear(3, 1)
    parameters = {k: v.detach() for k, v in model.named_parameters()}

    def loss(p, x):
        return functional_call(model, p, (x,)).square().sum()
    f = unchecked(vmap(grad(loss), in_dims=(None, 0)))
    x = shunt.randn(5, 3)
    want = vmap(grad(loss), in_dims=(None, 0))(parameters, x)
    got = warm(f, parameters, x, times=5)
    assert {k: facts(v) for k, v in got.items()} == {k: facts(v) for k, v in want.items()}


def test_a_fake_kernel_that_differs_from_the_kernel_runs_the_function():
    @shunt.library.custom_op("compiletest::columns", mutates_args=())
    def columns(x: shunt.Tensor) -> shunt.Tensor:
        return x.t().clone().t() * 2

    @columns.register_fake
    def _(x):
        return shunt.empty(x.shape)
    f = unchecked(lambda x: columns(x).flatten() + 1)
    x = shunt.arange(6.0).reshape(2, 3).t().contiguous().t()
    for _ in range(6):
        assert f(x).tolist() == (x * 2).flatten().add(1).tolist()
    text = f.explain()
    assert ("  out of use for good: operator compiletest::columns gives float32[2, 3] with strides [1, 2], and "
            "float32[2, 3] with strides [3, 1] was recorded. Its kernel for CPU and its Meta kernel have to give the "
            "same dtypes, sizes and strides") in text, text


def test_custom_operators_are_part_of_graphs():
    calls = []

    @shunt.library.custom_op("compiletest::double", mutates_args=())
    def double(x: shunt.Tensor) -> shunt.Tensor:
        calls.append(1)
        return x * 2

    @double.register_fake
    def _(x):
        return shunt.empty_like(x)
    f = unchecked(lambda x: double(x) + 1)
    x = shunt.randn(3)
    for n in range(6):
        assert f(x).tolist() == (x * 2 + 1).tolist()
        assert len(calls) == n + 1
