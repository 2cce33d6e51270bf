"""Tensor subclasses: one that keeps its class through functions, and one that sees operators and holds other data."""

import shunt
from shunt._subclasses.fake_tensor import FakeTensorMode
from shunt.utils._pytree import tree_map_only


class Metres(shunt.Tensor):
    """A tensor with a unit. Results of functions keep the class; adding a plain tensor is refused."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is shunt.Tensor.add and not all(isinstance(a, Metres) for a in args if isinstance(a, shunt.Tensor)):
            raise TypeError("metres and a number without a unit can't be added")
        return super().__torch_function__(func, types, args, kwargs or {})


class Int8(shunt.Tensor):
    """A wrapper: 8-bit numbers and a scale that stand for floats. Operators see the floats."""

    @staticmethod
    def __new__(cls, values, scale):
        self = shunt.Tensor._make_wrapper_subclass(cls, values.shape, dtype=shunt.float32)
        self.values, self.scale = values, scale
        return self

    __torch_function__ = shunt._C._disabled_torch_function_impl

    @classmethod
    def of(cls, x):
        scale = x.abs().max() / 127
        return cls((x / scale).round().to(shunt.int8), scale)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = tree_map_only(Int8, lambda q: q.values.to(shunt.float32) * q.scale, (args, kwargs or {}))
        return func(*args, **kwargs)


def main():
    height = shunt.tensor([1.5, 2.0]).as_subclass(Metres)
    print("a sum of metres is of class", type(height.add(height)).__name__)
    assert type(height.add(height)) is Metres and type(height * 2) is Metres
    try:
        height.add(shunt.ones(2))
        raise AssertionError("expected an error")
    except TypeError as error:
        print("refused:", error)

    shunt.manual_seed(0)
    weight, x = shunt.randn(16, 64), shunt.randn(4, 64)
    small = Int8.of(weight)
    difference = (shunt.nn.functional.linear(x, small) - shunt.nn.functional.linear(x, weight)).abs().max().item()
    print(f"8-bit weights: {small.values.nbytes} bytes instead of {weight.nbytes}, largest difference {difference:.2f}")
    assert 0 < difference < 0.5

    with FakeTensorMode():  # shapes without memory
        big = shunt.empty(100000, 100000)
        print("a fake product:", tuple((big @ big).shape))
        assert (big @ big).shape == (100000, 100000)

    def step(t):
        t.add_(1)
        return t.sum()

    t = shunt.ones(3)
    print("functionalized:", shunt.func.functionalize(step)(t).item(), t.tolist())
    assert t.tolist() == [2.0, 2.0, 2.0]

    with shunt.autocast("cpu", dtype=shunt.bfloat16):
        print("in autocast:", shunt.mm(shunt.ones(2, 2), shunt.ones(2, 2)).dtype)


if __name__ == "__main__":
    main()
