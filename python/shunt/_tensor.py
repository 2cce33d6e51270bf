"""shunt.Tensor: what TensorBase, of C++, has not."""

from shunt import _C


class Tensor(_C.TensorBase):
    """A multi-dimensional array of numbers of one dtype, on one device.

    Made by factories (shunt.tensor, shunt.zeros, ...) and by operators, which are its methods, too.
    """

    __module__ = "shunt"
    __slots__ = ()

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Adds the gradient of this tensor to `grad` of the leaves that it was computed from.

        Args:
            gradient: of this tensor, of its shape; may be left out where it has one element (1 then).
            retain_graph: whether the graph may be used again; create_graph by default.
            create_graph: whether the gradients can be differentiated in turn.
            inputs: tensors whose grad is to be changed; all leaves by default.
        """
        from shunt import autograd
        autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def __iter__(self):
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element):
        return bool((self == element).any())


_C._set_tensor_class(Tensor)


def _new_tensor(cls, *args, **kwargs):
    raise NotImplementedError
