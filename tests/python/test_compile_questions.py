"""What a compiled function asks of tensors and numbers besides their elements: grads of frozen tensors, places in memory
and in graphs, text, types of numbers. Calls are eager code's, whatever was recorded."""

import copy
import warnings

import pytest

import shunt
from compiling import facts, hits, unchecked, warm
from shunt import nn

base = shunt.arange(40.0)


def with_grad(*, frozen):
    w = shunt.ones(2, requires_grad=True)
    w.sum().backward()
    return w.requires_grad_(not frozen)


def retained():
    y = shunt.ones(2, requires_grad=True) * 1
    y.retain_grad()
    return y


def retained_with_grad():
    y = retained()
    y.sum().backward(retain_graph=True)
    return y


def leaf():
    return shunt.ones(2, requires_grad=True)


# (function, arguments of calls before, arguments of the call after, whether a graph is made of it)
QUESTIONS = {
    "storage_offset": (lambda x: x * x.storage_offset(), lambda: (base[0:2],), lambda: (base[5:7],), True),
    "storage_offset of a view": (lambda x: x * x[1:].storage_offset(), lambda: (base[0:2],), lambda: (base[5:7],), True),
    "storage_offset of a result": (
        lambda x: x * (x * 2)[1:].storage_offset(), lambda: (base[0:2],), lambda: (base[5:7],), True),
    "retains_grad": (lambda x: x * 2 if x.retains_grad else x * 3, lambda: (leaf() * 1,), lambda: (retained(),), False),
    "output_nr": (lambda x: x * x.output_nr, lambda: (leaf().expand(2, 2).unbind()[0],),
                  lambda: (leaf().expand(2, 2).unbind()[1],), False),
    "grad_fn's name": (lambda x: x * 2 if "Mul" in x.grad_fn.name() else x * 3, lambda: (leaf() * 1,),
                       lambda: (leaf().exp(),), False),
    "grad_fn of a leaf": (lambda x: x * 2 if x.grad_fn is None else x * 3, lambda: (shunt.ones(2),),
                          lambda: (leaf().exp(),), True),
    "is_set_to": (lambda x, y: x * 2 if x.is_set_to(y) else x * 3, lambda: (base[0:2], base[2:4]),
                  lambda: (base[0:2], base[0:2]), False),
    "_base": (lambda x: x * x._base.shape[0], lambda: (base[0:2],), lambda: (shunt.arange(7.0)[0:2],), False),
    "_base's elements": (lambda x: x + x._base.sum(), lambda: (base[0:2],), lambda: (shunt.arange(7.0)[0:2],), False),
    "_is_view": (lambda x: x * 2 if x._is_view() else x * 3, lambda: (shunt.ones(2),), lambda: (base[5:7],), True),
    "_version": (lambda x: x * x._version, lambda: (shunt.ones(2),), lambda: (shunt.ones(2).add_(1),), False),
    "grad of a frozen tensor": (lambda x: x * 2 if x.grad is not None else x * 3, lambda: (shunt.ones(2),),
                                lambda: (with_grad(frozen=True),), True),
    "grad of a tensor that was frozen": (lambda x: x * 2 if x.grad is not None else x * 3,
                                         lambda: (with_grad(frozen=True),), lambda: (with_grad(frozen=False),), True),
    "retained grad": (lambda x: x * 2 if x.grad is not None else x * 3, lambda: (retained_with_grad(),),
                      lambda: (retained(),), None),
    "text": (lambda x: x * len(str(x)), lambda: (shunt.ones(2),), lambda: (shunt.ones(2) * 0.125,), False),
    "formatted text": (lambda x: x * len(f"{x}"), lambda: (shunt.ones(2),), lambda: (shunt.ones(2) * 0.125,), False),
    "text in a list": (lambda x: x * len(repr([x])), lambda: (shunt.ones(2),), lambda: (shunt.ones(2) * 0.125,), False),
    "text of a captured tensor": (lambda x: x * len(str(base)), lambda: (shunt.ones(2),), lambda: (shunt.ones(2),),
                                  False),
    "text that it has without": (lambda x: x * len(swallowed(x)), lambda: (shunt.ones(2),),
                                 lambda: (shunt.ones(2) * 0.125,), False),
    "an argument": (lambda x, y: x * 2 if x is y else x * 3, lambda: (base[0:2], base[2:4]), lambda: (base[0:2],) * 2, True),
    "an argument in a list": (lambda x, y: x * 2 if x is y[0] else x * 3, lambda: (base[0:2], [base[2:4]]),
                              lambda: (lambda t: (t, [t]))(base[0:2]), True),
    "an argument that is written": (lambda x, y: (x.mul_(2), y + 1)[1], lambda: (shunt.ones(2), shunt.ones(2)),
                                    lambda: (shunt.ones(2),) * 2, True),
}


def swallowed(x):
    try:
        return str(x)
    except Exception:
        return ""


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("first", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("options", [{"check": "never"}, {}], ids=["unchecked", "checked"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question(name, options, first):
    function, before, after, records = QUESTIONS[name]
    if not first:
        before, after = after, before
    f = shunt.compile(function, options=options)
    for arguments in [before] * 20 + [after, before, after]:
        assert facts(f(*arguments())) == facts(function(*arguments())), f.explain()
    if records is not None and first:
        assert (hits(f) > 10) == records, f.explain()
    if records is False:
        assert "runs without a graph" in f.explain() or "recording failed" in f.explain() or "not recorded" in f.explain()


def test_reasons_name_the_question():
    for function, reason in (
        (lambda x: x * x.output_nr, "output_nr(), of a tensor of shape [2] from outside of the function: a graph would "
                                    "have the answer for the tensor that is there now"),
        (lambda x: x * len(str(x)), "the text of a tensor of shape [2]: a graph would have the elements that are there "
                                    "now, and print nothing"),
    ):
        f = unchecked(function)
        warm(f, shunt.ones(2), times=4)
        assert "test_compile_questions.py:" in f.explain() and reason in f.explain(), f.explain()


@pytest.mark.parametrize("check", ["never", "first"])
def test_a_captured_tensor_s_grad_while_it_is_frozen(check):
    w = with_grad(frozen=True)
    for function in (lambda x: x * 2 if w.grad is not None else x, lambda x: x * w + w.grad,
                     lambda x: x * w + (0 if w.grad is None else 1)):
        f = shunt.compile(function, options={"check": check})
        for _ in range(6):
            assert facts(f(shunt.ones(2))) == facts(function(shunt.ones(2)))
        assert hits(f) == 4, f.explain()


def frozen_steps(kind, wrap, period=5):
    """A step of training, of which the first layer is frozen each `period`-th time: grads after each step."""
    shunt.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    optimizer = getattr(shunt.optim, kind)(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()
    step = wrap(step)
    found = []
    for i in range(25):
        model[0].requires_grad_(i % period != period - 1)
        found.append((facts(step(shunt.randn(2, 3))),
                      [None if p.grad is None else facts(p.grad) for p in model.parameters()],
                      [facts(p) for p in model.parameters()]))
    return found, step


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("period", [2, 5])
def test_a_layer_that_is_frozen_now_and_then(kind, period):
    expected, _ = frozen_steps(kind, lambda f: f, period)
    for wrap in (unchecked, shunt.compile):
        got, step = frozen_steps(kind, wrap, period)
        assert got == expected
        assert hits(step) > 8, step.explain()


# --- floats of many values ---

VALUES = [0.1, 0.2, 0.3, 0.7, 1.1, 1 / 3, 2.5, 3.0, 0.5, 1.0, -0.25]

NUMBERS = {
    "type() is float": (lambda x, k: x if type(k) is float else -x, False),
    "type()'s name": (lambda x, k: x * len(type(k).__name__), False),
    "a table by type()": (lambda x, k: x * {float: 2, int: 3}.get(type(k), 5), False),
    "copy()": (lambda x, k: x * copy.copy(k), False),
    "isinstance": (lambda x, k: x * k if isinstance(k, float) else -x, True),
    "an error that is caught": (lambda x, k: x * caught(k), False),
    "str()": (lambda x, k: x * len(str(k)), False),
    "none": (lambda x, k: x * k + k, True),
    "type(self)": (lambda x, k: Scaled(k).scale(x), True),
}


def caught(k):
    try:
        return 2 if k > 0.4 else 1
    except Exception:
        return 7


class Scaled:
    def __init__(self, k):
        self.k = k

    def scale(self, x):
        return x * self.k if type(self) is Scaled else x


class Holder:
    k = 0.0


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("is_read", [False, True])
def test_a_float_of_many_values(name, is_read):
    function, lifts = NUMBERS[name]
    holder, x = Holder(), shunt.tensor([0.5, -1.25])
    f = unchecked((lambda x: function(x, holder.k)) if is_read else function)
    for k in VALUES * 4:
        holder.k = k
        got = f(x) if is_read else f(x, k)
        assert facts(got) == facts(function(x, k)), (k, f.explain())
    graphs = sum(s.graph() is not None for s in f._specializations)
    # As a tensor it has one graph for all values, else there are as many variants as may be.
    assert (len(f._specializations), graphs) == ((4, 1) if lifts else (8, 8)), f.explain()


def test_no_warning_where_the_next_call_records():
    @shunt.library.custom_op("compilequestions::double", mutates_args=())
    def double(x: shunt.Tensor) -> shunt.Tensor:
        return x * 2

    @double.register_fake
    def _(x):
        return shunt.empty_like(x)
    f, x, numbered = unchecked(lambda x: double(x) + 1), shunt.ones(2), unchecked(lambda x, k: x * len(str(k)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warm(f, x, times=10)
        for k in VALUES[:8]:
            numbered(x, k)
    assert hits(f) >= 4, f.explain()


def test_fullgraph_waits_for_the_next_call():
    @shunt.library.custom_op("compilequestions::triple", mutates_args=())
    def triple(x: shunt.Tensor) -> shunt.Tensor:
        return x * 3

    @triple.register_fake
    def _(x):
        return shunt.empty_like(x)
    f = shunt.compile(lambda x: triple(x) + 1, fullgraph=True, options={"check": "never"})
    assert warm(f, shunt.ones(1), times=10).item() == 4 and hits(f) >= 4


def test_a_library_s_warning_is_given_at_each_call():
    f = unchecked(lambda x: nn.functional.softmax(x))
    for _ in range(6):
        with pytest.warns(UserWarning):
            f(shunt.ones(2, 2))
    assert hits(f) == 0 and "warns, which a replay would not do again" in f.explain()
