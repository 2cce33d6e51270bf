"""Variable: what tensors with a gradient were of once. Programs make tensors by it, and ask whether one is."""

from shunt import Tensor

__all__ = ["Variable"]


class _AnyTensor(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor)


class Variable(metaclass=_AnyTensor):
    """Variable(tensor, requires_grad=False): the tensor's elements as a tensor that was computed from nothing. All
    tensors are its instances."""

    def __new__(cls, data=None, requires_grad=False, volatile=None):
        if data is None:
            from shunt import empty
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable(): data: expected a Tensor, got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)
