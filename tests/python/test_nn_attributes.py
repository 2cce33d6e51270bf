"""Attributes of modules: parameters, buffers and modules are found in tables, whatever classes define."""

import copy
import gc
import pickle
import sys

import pytest

import shunt
from shunt import nn


class Plain(nn.Module):
    kind = "class"

    def __init__(self):
        super().__init__()
        self.weight, self.inner = nn.Parameter(shunt.ones(2)), nn.Identity()
        self.register_buffer("mean", shunt.zeros(2))
        self.number = 3


class WithGetattr(Plain):
    def __getattr__(self, name):
        return "made up" if name.startswith("any") else super().__getattr__(name)


class WithGetattribute(Plain):
    def __getattribute__(self, name):
        return "hidden" if name == "number" else super().__getattribute__(name)


class WithProperty(Plain):
    @property
    def broken(self):
        raise AttributeError("inside")

    @property
    def wrong(self):
        raise ValueError("inside")


@pytest.mark.parametrize("cls", [Plain, WithGetattr, WithProperty])
def test_tables(cls):
    m = cls()
    assert m.weight is m._parameters["weight"] and m.mean is m._buffers["mean"] and m.inner is m._modules["inner"]
    assert m.number == 3 and m.kind == "class" and m.forward.__self__ is m
    with pytest.raises(AttributeError, match=f"'{cls.__name__}' object has no attribute 'missing'"):
        m.missing
    assert getattr(m, "missing", None) is None and not hasattr(m, "missing")
    m.__dict__["mean"] = 5
    assert m.mean == 5


def test_classes_with_look_ups_of_their_own():
    assert WithGetattr().anything == "made up"
    m = WithGetattribute()
    assert m.number == "hidden" and m.weight is m._parameters["weight"]
    with pytest.raises(AttributeError):
        WithProperty().broken
    with pytest.raises(ValueError, match="inside"):
        WithProperty().wrong


def test_a_look_up_that_a_class_gets_later():
    class Later(Plain):
        pass

    class Below(Later):
        pass

    m = Below()
    assert m.weight is m._parameters["weight"]
    Later.__getattr__ = lambda self, name: name
    assert m.other == "other" and m.weight == "weight"
    del Later.__getattr__
    assert m.weight is m._parameters["weight"]


def test_before_init():
    class Early(nn.Module):
        def __init__(self):
            self.found = hasattr(self, "weight")
            super().__init__()

    assert Early().found is False
    with pytest.raises(AttributeError):
        nn.Module.__new__(Plain).weight


def test_copies_pickles_and_counts_of_references():
    m = Plain()
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert shunt.equal(other.weight, m.weight) and other.inner is not m.inner
    weight = m.weight
    before = sys.getrefcount(weight)
    for _ in range(100):
        m.weight
        hasattr(m, "missing")
    gc.collect()
    assert sys.getrefcount(weight) == before
