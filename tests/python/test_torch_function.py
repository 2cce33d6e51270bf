"""__torch_function__."""

import pytest

import shunt
from shunt import overrides


class Logged(shunt.Tensor):
    log = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append((func, types, len(args), sorted(kwargs or {})))
        return super().__torch_function__(func, types, args, kwargs or {})


class Plain(shunt.Tensor):
    pass


class Other:
    """No tensor."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, types, args, kwargs


@pytest.fixture
def x():
    Logged.log.clear()
    return shunt.ones(2, 3).as_subclass(Logged)


def last():
    return Logged.log[-1]


def test_results_are_of_the_class(x):
    for result in (x + 1, 1 + x, 1 - x, x.sum(), shunt.sum(x), shunt.add(x, x), x[0], -x,
                   x == x, x @ x.t(), shunt.cat([x, x]), x.unbind()[0], x.max(1)[0], x.t()):
        assert type(result) is Logged
    p = shunt.ones(2).as_subclass(Plain)
    assert type(p + 1) is Plain and type(shunt.ones(2) + p) is Plain and type(p.sum()) is Plain
    assert type(p.max(0)).__name__ == "max" and type(p.max(0).values) is Plain
    assert p.shape == (2,) and type(p.shape) is shunt.Size


def test_functions_methods_and_properties(x):
    T = shunt.Tensor
    cases = [
        (lambda: x + 1, T.add, 2, []), (lambda: 1 + x, T.add, 2, []), (lambda: x - 1, T.sub, 2, []),
        (lambda: x / 2, T.div, 2, []), (lambda: x < 1, T.lt, 2, []), (lambda: -x, T.neg, 1, []),
        (lambda: x.sum(), T.sum, 1, []), (lambda: shunt.sum(x), shunt.sum, 1, []),
        (lambda: x.sum(dim=0), T.sum, 1, ["dim"]),
        (lambda: shunt.add(x, x, alpha=2), shunt.add, 2, ["alpha"]), (lambda: x.add_(1), T.add_, 2, []),
        (lambda: x[0], T.__getitem__, 2, []), (lambda: x.size(), T.size, 1, []), (lambda: x.dim(), T.dim, 1, []),
        (lambda: x.shape, T.shape.__get__, 1, []), (lambda: x.dtype, T.dtype.__get__, 1, []),
        (lambda: x.requires_grad, T.requires_grad.__get__, 1, []), (lambda: shunt.cat([x, x]), shunt.cat, 1, []),
        (lambda: float(x.sum()), T.__float__, 1, []), (lambda: bool(x.sum()), T.__bool__, 1, []),
        (lambda: x.__setitem__(0, 2.0), T.__setitem__, 3, []), (lambda: 1 - x, T.__rsub__, 2, []),
    ]
    for call, func, n, keywords in cases:
        call()
        assert last() == (func, (Logged,), n, keywords), call
    assert T.add.__name__ == "add" and shunt.add.__name__ == "add"


def test_setters(x):
    x.requires_grad = True
    assert last()[0] == shunt.Tensor.requires_grad.__set__ and x.requires_grad


def test_objects_that_are_no_tensors():
    o, y = Other(), shunt.ones(2)
    assert shunt.add(o, 1) == (shunt.add, (Other,), (o, 1), None)
    assert shunt.add(y, o)[2] == (y, o) and (y + o)[0] is shunt.Tensor.add and y.add(o)[0] is shunt.Tensor.add
    assert shunt.cat([o, y])[1] == (Other,)
    assert shunt.sum(o, dim=0)[3] == {"dim": 0}
    assert shunt.ops.aten.add.Tensor(o, 1)[0] is shunt.ops.aten.add.Tensor
    assert shunt.ops.aten.add(o, 1)[0] is shunt.ops.aten.add


def test_derived_classes_are_asked_before_their_bases():
    class Derived(Logged):
        asked = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.asked.append(types)
            return super().__torch_function__(func, types, args, kwargs)

    a, b = shunt.ones(2).as_subclass(Logged), shunt.ones(2).as_subclass(Derived)
    result = shunt.add(a, b)
    assert Derived.asked == [(Derived, Logged)] and type(result) is Derived
    assert [type(t) for t in overrides._get_overloaded_args((a, b, a))] == [Derived, Logged]


def test_unrelated_classes_and_not_implemented():
    class Never(shunt.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    n = shunt.ones(2).as_subclass(Never)
    with pytest.raises(TypeError, match="unsupported operand"):
        n + 1
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'shunt.add'.*\n\n  - tensor subclass"):
        shunt.add(n, 1)
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'shunt.Tensor.add'"):
        n.add(1)
    with pytest.raises(TypeError):
        shunt.add(shunt.ones(2).as_subclass(Plain), shunt.ones(2).as_subclass(Logged))


def test_exceptions_of_handlers():
    class Raising(shunt.Tensor):
        error = KeyError("x")

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise cls.error

    with pytest.raises(KeyError) as caught:
        shunt.ones(2).as_subclass(Raising) + 1
    assert caught.value is Raising.error


def test_disabling(x):
    with shunt._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is shunt.Tensor and not overrides.has_torch_function((x,))
    with shunt._C.DisableTorchFunction():
        assert type(x.sum()) is shunt.Tensor
    assert type(x + 1) is Logged

    class Disabled(shunt.Tensor):
        __torch_function__ = shunt._C._disabled_torch_function_impl

    d = shunt.ones(2).as_subclass(Disabled)
    assert type(d + 1) is shunt.Tensor and not overrides.has_torch_function((d,))


def test_gradients_go_through(x):
    w = shunt.ones(3).requires_grad_()
    w.as_subclass(Plain).mul(2).sum().backward()
    assert w.grad.tolist() == [2.0] * 3


class Mode(overrides.TorchFunctionMode):

    def __init__(self):
        self.log = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.log.append((func, types, len(args), kwargs))
        return func(*args, **(kwargs or {}))


def test_modes(x):
    y = shunt.ones(2, 2)
    with Mode() as mode:
        y + 1
        y.sum()
        shunt.zeros(3)
        y.shape
        y[0]
        shunt.add(y, y, alpha=1)
        y.size()
        shunt.ops.aten.add.Tensor(y, y)
    T = shunt.Tensor
    assert [entry[0] for entry in mode.log] == [
        T.add, T.sum, shunt.zeros, T.shape.__get__, T.__getitem__, shunt.add, T.size, shunt.ops.aten.add.Tensor]
    assert mode.log[5][3] == {"alpha": 1} and mode.log[0][3] is None
    y + 1
    assert len(mode.log) == 8


def test_modes_nest_and_are_off_in_their_handlers():
    order = []

    class Named(overrides.TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append(self.name)
            shunt.ones(1) + 1
            return func(*args, **(kwargs or {}))

    y = shunt.ones(2)
    with Named("outer") as outer, Named("inner") as inner:
        assert overrides._get_current_function_mode_stack() == [outer, inner]
        y + 1
    assert order == ["inner", "outer", "outer", "outer"]
    assert overrides._get_current_function_mode() is None


def test_modes_come_before_classes(x):
    with Mode() as mode:
        result = x + 1
    assert mode.log[0][:2] == (shunt.Tensor.add, (Logged,)) and type(result) is Logged

    class Answer(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 42

    with Answer():
        assert x + 1 == 42 and shunt.zeros(2) == 42


def test_functions_of_programs(x):
    def double(t):
        if overrides.has_torch_function((t,)):
            return overrides.handle_torch_function(double, (t,), t)
        return t * 2

    assert type(double(x)) is Logged and (double, (Logged,), 1, []) in Logged.log
    assert type(double(shunt.ones(1))) is shunt.Tensor

    @overrides.wrap_torch_function(lambda t: (t,))
    def triple(t):
        return t * 3

    assert type(triple(x)) is Logged
    assert overrides.has_torch_function_unary(x) and not overrides.has_torch_function_unary(1)
    assert overrides.has_torch_function_variadic(1, x) and not overrides.has_torch_function_variadic(1, 2)


def test_listings():
    functions = overrides.get_overridable_functions()
    assert shunt.add in functions[shunt] and shunt.Tensor.add in functions[shunt.Tensor]
    assert overrides.resolve_name(shunt.add) == "shunt.add"
    assert overrides.resolve_name(shunt.Tensor.add) == "shunt.Tensor.add"
    assert overrides.resolve_name(shunt.ops.aten.add.Tensor) == "aten.add.Tensor"
    assert overrides.is_tensor_method_or_property(shunt.Tensor.add)
    assert overrides.is_tensor_like(Other()) and not overrides.is_tensor_like(3)


@pytest.mark.parametrize("call", [
    lambda F, x: F.linear(x, shunt.ones(4, 3)), lambda F, x: F.gelu(x), lambda F, x: F.mse_loss(x, shunt.ones(2, 3)),
    lambda F, x: F.leaky_relu(x),
])
def test_functions_of_nn_are_offered(call):
    class Marked(shunt.Tensor):
        pass

    assert type(call(shunt.nn.functional, shunt.ones(2, 3).as_subclass(Marked))) is Marked


def test_functions_of_pytorch_refuse_tensors_of_shunt():
    torch = pytest.importorskip("torch")
    for call in (lambda: torch._C._nn.gelu(shunt.ones(2)), lambda: torch.add(shunt.ones(2), 1)):
        with pytest.raises(TypeError, match="shunt.Tensor"):
            call()
