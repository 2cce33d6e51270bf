"""Floats that a compiled function reads, and that change: learning rates, attributes, globals; what explain() says."""

import struct
import warnings

import pytest

import shunt
from compiling import facts, hits, unchecked
from shunt import _C, nn
from shunt._walk.guard import MISSING, Guard, mismatch


class Scaled:
    def __init__(self, scale):
        self.scale = scale


scale = 1.0


def set_global(value):
    global scale
    scale = value


def test_a_number_that_is_read_becomes_a_tensor():
    o, x = Scaled(1.0), shunt.randn(6)
    closed = {"k": 1.0}
    for function, set_to in (
        (lambda x: x * o.scale - x / (1 + o.scale), lambda k: setattr(o, "scale", k)),
        (lambda x: x.double() * scale + 1, set_global),
        (lambda x: x * (closed["k"] * 2), lambda k: closed.update(k=k)),
    ):
        f = unchecked(function)
        for i in range(40):
            set_to(0.1 + i * 0.37)
            assert facts(f(x)) == facts(function(x))
        assert len(f._specializations) == 4 and hits(f) > 20, f.explain()
        assert type(o.scale) is type(scale) is type(closed["k"]) is float


@pytest.mark.parametrize("function", [
    lambda o, x: x * o.scale if o.scale > 0.25 else -x, lambda o, x: x * o.scale**2, lambda o, x: x * float(o.scale),
    lambda o, x: x.clone().add_(x, alpha=o.scale)])
def test_a_number_whose_value_is_looked_at_has_variants(function):
    o, x = Scaled(1.0), shunt.randn(6)
    read = lambda x: function(o, x)  # noqa: E731
    f = unchecked(read)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it runs without a graph once
        for i in range(50):
            o.scale = 0.1 * (i % 5)
            assert facts(f(x)) == facts(read(x))
    assert hits(f) > 20 and type(o.scale) is float, f.explain()


def trained(optimizer, compile, steps=30, **settings):
    shunt.manual_seed(0)
    model = nn.Linear(4, 3)
    groups = [{"params": [model.weight], "lr": 1e-2}, {"params": [model.bias]}]
    o = getattr(shunt.optim, optimizer)(groups, lr=1e-3, **settings)
    schedule = shunt.optim.lr_scheduler.CosineAnnealingLR(o, steps)

    def step(x):
        o.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        o.step()
        return loss.detach()

    f = compile(step)
    for _ in range(steps):
        f(shunt.ones(2, 4))
        schedule.step()
    return f, facts(model.weight.detach()), facts(model.bias.detach())


@pytest.mark.parametrize("optimizer, settings", [
    ("SGD", {"momentum": 0.9, "weight_decay": 0.1}), ("Adam", {}), ("AdamW", {}), ("RMSprop", {"momentum": 0.5}),
    ("Adagrad", {"lr_decay": 0.1}), ("Adadelta", {}), ("Adamax", {}), ("NAdam", {}), ("RAdam", {})])
def test_a_scheduled_learning_rate(optimizer, settings):
    f, *got = trained(optimizer, shunt.compile, **settings)
    _, *expected = trained(optimizer, lambda step: step, **settings)
    assert got == expected and hits(f) > 20, f.explain()


def test_a_function_that_changes_the_number_runs_as_it_is():
    o = Scaled(1.0)

    def grows(x):
        o.scale = o.scale * 2.0
        return x * o.scale

    f = unchecked(grows)
    with pytest.warns(UserWarning, match="changes o.scale"):
        for i in range(12):
            assert f(shunt.ones(1)).item() == 2.0 ** (i + 1)


def test_reasons_are_counted_together():
    o = Scaled([0])
    f = unchecked(lambda x: x * o.scale[0])
    warning = r"there are 8 variants .* for other values of o.scale\[0\].* in a tensor"
    with pytest.warns(UserWarning, match=warning) as seen:
        for i in range(300):
            o.scale[0] = i
            assert f(shunt.ones(1)).item() == i
    assert len(seen) == 1
    reason = "there are 8 variants (max_variants) for other values of o.scale[0]"
    assert f"292 calls ran the function: {reason}\n" in f.explain()
    assert len(f.explain()) < 3000


def test_explain_is_short_whatever_the_reasons():
    f = unchecked(lambda x: x)
    for i in range(1000):
        f._run(f"reason {i} " + "x" * 1000, (shunt.ones(1),), {})
    assert "984 calls ran the function: other reasons" in f.explain() and len(f.explain()) < 5000


class Slot:
    __slots__ = ("scale",)


def a_closure():
    held = 1.5

    def function():
        return held
    return function.__closure__[0]


NUMBERS = {
    "item": (vars(Scaled(1.5)), "scale", lambda o, v: o.update(scale=v), lambda o: o.pop("scale")),
    "index": ([0, 1.5], 1, lambda o, v: o.__setitem__(1, v), lambda o: o.pop()),
    "cell": (a_closure(), None, lambda o, v: setattr(o, "cell_contents", v), lambda o: delattr(o, "cell_contents")),
    "attribute": (Slot(), "scale", lambda o, v: setattr(o, "scale", v), lambda o: delattr(o, "scale")),
    "type_attribute": (type("Kind", (), {"scale": 1.5}), "scale", lambda o, v: setattr(o, "scale", v),
                       lambda o: delattr(o, "scale")),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_guard_writes_the_number_down(kind):
    owner, key, set_to, delete = NUMBERS[kind]

    def checked(expected):
        found = Guard(f"{kind}_number", owner, key, expected, False, "o.scale")
        made = _C._Specialization((), {}, ())
        made.guard([tuple(found)], MISSING, None, [])
        return found, made

    (found, _), (_, made) = checked(bytearray(8)), checked(number := bytearray(8))
    for value in (1.5, -2.0, float("inf"), -2.0):
        set_to(owner, value)
        assert made.first_failed() == -1 and made.first_failed() == -1 and mismatch(found) is None
        assert struct.unpack("=d", number) == struct.unpack("=d", found.expected) == (value,)
    for value in (1, True, "1.0", None, MISSING):
        set_to(owner, value)
        assert made.first_failed() == 0 and mismatch(found) is not None
    delete(owner)
    assert made.first_failed() == 0 and mismatch(found) is not None
    for expected in (bytearray(4), b"12345678", 1.5):
        with pytest.raises(TypeError):
            checked(expected)
    with pytest.raises(ValueError, match="unknown kind of guard: other"):
        _C._Specialization((), {}, ()).guard([("other_number", owner, key, bytearray(8), False, "")], MISSING, None, [])
