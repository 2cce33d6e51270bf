"""Kinds of tensors that Shunt itself makes."""

from shunt._subclasses.fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
