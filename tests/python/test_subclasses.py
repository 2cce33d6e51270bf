"""Classes derived from Tensor with a __torch_dispatch__."""

import copy
import gc
import weakref

import pytest

import shunt
from shunt.utils._python_dispatch import TorchDispatchMode
from shunt.utils._pytree import tree_map_only


class Wrapper(shunt.Tensor):
    """Holds a tensor, and does with it what is asked of the wrapper."""

    seen = []

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        self = shunt.Tensor._make_wrapper_subclass(cls, inner.size(), strides=inner.stride(), dtype=inner.dtype,
                                                   device=inner.device, requires_grad=requires_grad)
        self.inner = inner
        return self

    __torch_function__ = shunt._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        unwrapped = tree_map_only(Wrapper, lambda w: w.inner, (args, kwargs or {}))
        result = func(*unwrapped[0], **unwrapped[1])
        return tree_map_only(shunt.Tensor, Wrapper, result)


@pytest.fixture(autouse=True)
def clear():
    Wrapper.seen.clear()


def wrapper(requires_grad=False):
    return Wrapper(shunt.arange(6.0).view(2, 3), requires_grad=requires_grad)


def test_a_wrapper_looks_as_told():
    w = wrapper()
    assert type(w) is Wrapper and isinstance(w, shunt.Tensor)
    assert w.shape == (2, 3) and w.stride() == (3, 1) and w.dtype is shunt.float32 and w.device == shunt.device("cpu")
    assert not w.requires_grad and w.is_leaf and Wrapper.seen == []
    t = Wrapper(shunt.ones(2, 3, dtype=shunt.float64).t())
    assert t.stride() == (1, 3) and t.dtype is shunt.float64


def test_operators_come_to_the_class():
    w = wrapper()
    y = w * 2 + 1
    assert type(y) is Wrapper and y.inner.tolist() == [[1.0, 3.0, 5.0], [7.0, 9.0, 11.0]]
    assert Wrapper.seen == ["aten.mul.Tensor", "aten.add.Tensor"]
    assert type(w.t()) is Wrapper and w.t().shape == (3, 2)
    values, indices = w.max(1)
    assert values.inner.tolist() == [2.0, 5.0] and type(indices) is Wrapper
    assert [type(t) for t in w.unbind()] == [Wrapper, Wrapper]
    assert type(shunt.cat([w, w])) is Wrapper
    assert w.sum().item() == 15.0


def test_autograd_is_above_the_class():
    w = wrapper(requires_grad=True)
    y = (w * w).sum()
    assert y.requires_grad and type(y) is Wrapper and w.is_leaf
    Wrapper.seen.clear()
    y.backward()
    assert type(w.grad) is Wrapper and w.grad.inner.tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
    assert "aten.mul.Tensor" in Wrapper.seen  # backward meets the class
    y = (w * 3).sum()
    y.backward()
    assert w.grad.inner.tolist() == [[3.0, 5.0, 7.0], [9.0, 11.0, 13.0]]


def test_in_the_handler_nothing_is_recorded():
    class Inner(shunt.Tensor):
        recorded = []

        @staticmethod
        def __new__(cls, t):
            return shunt.Tensor._make_subclass(cls, t, True)

        __torch_function__ = shunt._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            x = shunt.ones(2).requires_grad_()
            cls.recorded.append((x * 2).requires_grad)
            return func(*[a.data if isinstance(a, cls) else a for a in args])

    x = Inner(shunt.ones(2))
    y = x * 2
    assert Inner.recorded == [False] and y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_composites_come_as_their_parts():
    w = wrapper()
    y = shunt.nn.functional.linear(w, shunt.ones(4, 3), shunt.ones(4))
    assert type(y) is Wrapper and "aten.linear.default" not in Wrapper.seen


def test_in_place_returns_the_wrapper():
    w = wrapper()
    assert w.add_(1) is w and w.inner.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    with pytest.raises(RuntimeError, match="leaf"):
        wrapper(requires_grad=True).add_(1)
    w[0] = 7.0
    assert w.inner.tolist() == [[7.0, 7.0, 7.0], [4.0, 5.0, 6.0]]
    out = wrapper()
    assert shunt.add(w, w, out=out) is out and out.inner.tolist()[0] == [14.0] * 3


def test_modes_are_asked_first():
    order = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append((str(func), types))
            return func(*args, **kwargs)

    with Mode():
        wrapper() + 1
    assert ("aten.add.Tensor", (Wrapper,)) in order and Wrapper.seen[-1] == "aten.add.Tensor"
    assert ("aten.add.Tensor", ()) in order or len(order) >= 1


def test_make_subclass_shares_the_data():
    class Counting(shunt.Tensor):
        calls = 0

        @staticmethod
        def __new__(cls, data):
            return shunt.Tensor._make_subclass(cls, data)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.calls += 1
            def unwrap(x):
                return x.data if isinstance(x, Counting) else x

            result = func(*[unwrap(a) for a in args], **{k: unwrap(v) for k, v in (kwargs or {}).items()})
            return Counting(result) if isinstance(result, shunt.Tensor) else result

    data = shunt.ones(3, 4)
    x = Counting(data)
    y = x + 1
    assert type(y) is Counting and Counting.calls == 1
    assert type(x.data) is shunt.Tensor or isinstance(x.data, Counting)
    data.fill_(5.0)
    z = x * 1
    assert z.data.tolist() == [[5.0] * 4] * 3


def test_make_subclass_without_a_handler():
    class Plain(shunt.Tensor):
        pass

    a = shunt.ones(2)
    p = shunt.Tensor._make_subclass(Plain, a, True)
    assert type(p) is Plain and p.requires_grad and p.is_leaf and p.data_ptr() == a.data_ptr()
    assert type(p + 1) is Plain
    q = a.as_subclass(Plain)
    assert type(q) is Plain and q is not a and q.data_ptr() == a.data_ptr()
    assert shunt.Tensor._make_subclass(shunt.Tensor, a, True).requires_grad


def test_several_classes():
    class A(shunt.Tensor):
        order = []

        @staticmethod
        def __new__(cls, t):
            return shunt.Tensor._make_subclass(cls, t)

        __torch_function__ = shunt._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            A.order.append((cls, types))
            return NotImplemented if cls is A else func(*[a.data if isinstance(a, A) else a for a in args])

    class B(A):
        pass

    a, b = A(shunt.ones(2)), B(shunt.ones(2))
    assert (a + b).tolist() == [2.0, 2.0]
    assert A.order == [(B, (B, A))]
    with pytest.raises(TypeError, match="all __torch_dispatch__ handlers returned NotImplemented"):
        a + 1


def test_errors():
    with pytest.raises(TypeError, match="does not inherit from Tensor"):
        shunt.Tensor._make_subclass(int, shunt.ones(2))
    with pytest.raises(TypeError, match="'data' must be Tensor, not list"):
        shunt.Tensor._make_subclass(shunt.Tensor, [1.0])

    class Plain(shunt.Tensor):
        pass

    with pytest.raises(TypeError, match="Plain must define __torch_dispatch__"):
        shunt.Tensor._make_wrapper_subclass(Plain, (2, 3))

    class Raising(shunt.Tensor):
        error = ValueError("mine")

        @staticmethod
        def __new__(cls, t):
            return shunt.Tensor._make_subclass(cls, t)

        __torch_function__ = shunt._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise cls.error

    with pytest.raises(ValueError) as caught:
        Raising(shunt.ones(2)) + 1
    assert caught.value is Raising.error


def test_aliases_have_the_class_and_its_attributes():
    w = wrapper(requires_grad=True)
    y = w.exp()  # keeps its result, whose object may go
    y_inner = y.inner
    total = y.sum()
    del y
    gc.collect()
    total.backward()
    assert w.grad.inner.tolist() == y_inner.tolist()


def test_printing_and_copies():
    w = wrapper(requires_grad=True)
    assert repr(w) == "Wrapper(..., size=(2, 3), requires_grad=True)"
    copied = copy.deepcopy(w)
    assert type(copied) is Wrapper and copied.requires_grad and copied.inner is not w.inner
    assert copied.inner.tolist() == w.inner.tolist()
    with pytest.raises(RuntimeError, match="not supported for tensor subclasses"):
        w.detach().numpy()
    with pytest.raises(RuntimeError):
        w.tolist()


def test_transforms_meet_the_class():
    w = wrapper(requires_grad=True)
    gradient, = shunt.autograd.grad((w * w).sum(), w)
    assert type(gradient) is Wrapper and gradient.inner.tolist()[1] == [6.0, 8.0, 10.0]
    with shunt.autocast("cpu"):
        assert shunt.mm(wrapper(), wrapper().t()).dtype is shunt.bfloat16


def test_wrappers_end():
    w = wrapper()
    w.cycle = w
    dead = weakref.ref(w)
    del w
    gc.collect()
    # The class's side of the tensor holds the attributes, so a cycle through the wrapper itself stays.
    v = wrapper()
    gone = weakref.ref(v.inner)
    del v
    gc.collect()
    assert gone() is None
    assert dead() is None or dead().cycle is dead()


class Counted(shunt.Tensor):
    """A tensor that counts its operators, and leaves them to Tensor's handler."""

    calls = 0

    @staticmethod
    def __new__(cls, data):
        return shunt.Tensor._make_subclass(cls, data)

    __torch_function__ = shunt._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        Counted.calls += 1
        return super().__torch_dispatch__(func, types, args, kwargs)


def test_a_handler_calls_the_base_classs():
    x = Counted(shunt.tensor([1.0, 2.0]))
    before = Counted.calls
    y = x + x
    assert type(y) is shunt.Tensor and y.tolist() == [2.0, 4.0] and Counted.calls == before + 1


def test_dispatch_to_classes_is_switched_off():
    x = Counted(shunt.tensor([1.0, 2.0]))
    before = Counted.calls
    guard = shunt._C._DisableTorchDispatch()
    y = x + x
    del guard
    assert y.tolist() == [2.0, 4.0] and Counted.calls == before
    with shunt._C._DisableTorchDispatch():
        assert (x * 3).tolist() == [3.0, 6.0] and Counted.calls == before
    x + x
    assert Counted.calls == before + 1


def test_a_reentrant_handler_records_gradients():
    class Inside(shunt.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return shunt.Tensor._make_subclass(cls, inner.detach())

        def __init__(self, inner):
            self.inner = inner

        __torch_function__ = shunt._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            from shunt.overrides import enable_reentrant_dispatch
            with enable_reentrant_dispatch():
                return Inside(func(*tree_map_only(Inside, lambda x: x.inner, args), **(kwargs or {})))

    x = shunt.tensor([1.0, 2.0], requires_grad=True)
    y = Inside(x) * 3
    assert not y.requires_grad and y.inner.requires_grad
    y.inner.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
