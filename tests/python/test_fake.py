"""FakeTensorMode and functionalize."""

import pytest

import shunt
from shunt._functionalize import functionalize
from shunt._subclasses.fake_tensor import (DataDependentOutputException, DynamicOutputShapeException, FakeTensor,
                                           FakeTensorMode, is_fake,
                                            unset_fake_temporarily)


def test_shapes_without_elements():
    with FakeTensorMode():
        x = shunt.ones(100000, 100000)
        y = x @ x
        z = (y + 1).relu().sum(0)
    assert y.shape == (100000, 100000) and z.shape == (100000,) and is_fake(z)
    assert isinstance(x, FakeTensor) and type(y) is FakeTensor and y.device.type == "cpu"
    assert not is_fake(shunt.ones(2))
    assert (z * 2).shape == (100000,) and is_fake(z * 2)  # outside of the mode, too


def test_other_devices():
    with FakeTensorMode():
        x = shunt.ones(4, 4, device="cuda")
        y = x + 1
        assert y.device.type == "cuda"
        with pytest.raises(RuntimeError):
            x + shunt.ones(4, 4)


def test_from_tensor():
    real = shunt.ones(2, 3, dtype=shunt.float64).t()
    mode = FakeTensorMode()
    fake = mode.from_tensor(real)
    assert fake.shape == (3, 2) and fake.stride() == real.stride() and fake.dtype is shunt.float64
    assert mode.from_tensor(real) is fake
    leaf = mode.from_tensor(shunt.ones(2).requires_grad_())
    assert leaf.requires_grad and leaf.is_leaf


def test_errors_are_the_real_ones():
    with FakeTensorMode() as mode:
        with pytest.raises(RuntimeError):
            shunt.ones(2, 3) @ shunt.ones(2, 3)
        with pytest.raises(RuntimeError):
            shunt.ones(2).item()
        for element in (bool, float, int):
            with pytest.raises(DataDependentOutputException):
                element(shunt.ones(1))
        with pytest.raises(DynamicOutputShapeException):
            shunt.ones(3).nonzero()
        with unset_fake_temporarily() as before:
            assert before is mode and not is_fake(shunt.ones(2))
    with pytest.raises(RuntimeError):
        mode.from_tensor(shunt.ones(1)).tolist()
    with pytest.raises(TypeError):
        FakeTensor(shunt.ones(2))


def test_real_arguments():
    real = shunt.ones(2)
    with FakeTensorMode(), pytest.raises(RuntimeError):
        shunt.ones(2) + real
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert is_fake(shunt.ones(2) + real)
    assert not is_fake(real)


def test_modes_nest_and_end():
    mode = FakeTensorMode()
    with mode:
        with mode:
            assert is_fake(shunt.ones(1))
        assert is_fake(shunt.ones(1))
    assert not is_fake(shunt.ones(1))


def test_gradients_are_fake():
    with FakeTensorMode():
        x = shunt.ones(3, 4).requires_grad_()
        (x * 2).sum().backward()
        assert is_fake(x.grad) and x.grad.shape == (3, 4)


def test_repr():
    with FakeTensorMode():
        assert repr(shunt.ones(2, 3)) == "FakeTensor(..., device='cpu', size=(2, 3))"


def test_functionalize_writes_arguments_at_the_end():
    from shunt.utils._python_dispatch import TorchDispatchMode
    names = []

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(str(func))
            return func(*args, **kwargs)

    def f(x, parts):
        x.add_(1)
        x[0].mul_(2)
        parts["y"].view(4).fill_(7.0)
        return x.sum(), parts["y"]

    def run(function):
        x, y = shunt.ones(2, 2), shunt.zeros(2, 2)
        total, z = function(x, {"y": y})
        return total.item(), x.tolist(), y.tolist(), z is y

    expected = run(f)
    assert run(functionalize(f)) == expected == (12.0, [[4.0, 4.0], [2.0, 2.0]], [[7.0, 7.0], [7.0, 7.0]], True)
    x = shunt.ones(2)
    with Names():
        functionalize(lambda t: t.add_(1).mul_(2).clone())(x)
    assert names[:2] == ["aten.add.Tensor", "aten.mul.Tensor"] and x.tolist() == [4.0, 4.0]


def test_functionalize_and_exceptions():
    def f(x):
        x.add_(1)
        raise KeyError("mine")

    x = shunt.ones(2)
    with pytest.raises(KeyError):
        functionalize(f)(x)
    assert x.tolist() == [1.0, 1.0] and not shunt._C._is_functional_tensor(shunt.ones(1))
    with pytest.raises(RuntimeError, match="valid options"):
        functionalize(f, remove="all")


def test_functional_tensors():
    t = shunt.zeros(2)
    x = shunt._C._to_functional_tensor(t)
    x.add_(1)
    assert shunt._C._from_functional_tensor(x).tolist() == [1.0, 1.0] and t.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError):
        shunt._C._from_functional_tensor(t)
