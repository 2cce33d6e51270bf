"""Fake tensors: sizes, strides, dtype and device without elements.

    with FakeTensorMode() as mode:
        x = shunt.randn(100000, 100000)
        y = (x @ x).sum(0)
        print(y.shape)
"""

from shunt import Tensor, _C

__all__ = ["DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor", "FakeTensorMode",
           "UnsupportedFakeTensorException", "is_fake", "maybe_get_fake_mode", "unset_fake_temporarily"]


class UnsupportedFakeTensorException(RuntimeError):
    """What fake tensors can't do."""


class DynamicOutputShapeException(RuntimeError):
    """A result's sizes depend on elements."""


class DataDependentOutputException(RuntimeError):
    """A result depends on elements."""


class FakeTensor(Tensor):
    """A tensor without elements. Operators on it have the results that they have on real ones, as far as these are
    sizes, strides, dtype, device, aliases and graph."""

    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, *args, **kwargs):
        raise TypeError("FakeTensor: a fake tensor is made by a factory in FakeTensorMode, or by "
                        "mode.from_tensor(tensor)")

    @property
    def fake_device(self):
        """The device that it is on."""
        return self.device

    @property
    def fake_mode(self):
        """The mode that is on; None outside of all."""
        return _active[-1] if _active else None

    @classmethod
    def from_tensor(cls, t, fake_mode):
        return fake_mode.from_tensor(t)

    def __repr__(self, *, tensor_contents=None):
        parts = [f"device='{self.device}'", f"size={tuple(self.shape)}"]
        if self.dtype is not _C.float32:
            parts.append(f"dtype={self.dtype}")
        if self.grad_fn_name():
            parts.append(f"grad_fn=<{self.grad_fn_name()}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        return f"FakeTensor(..., {', '.join(parts)})"

    def grad_fn_name(self):
        """The name of its node in the graph, or ""."""
        node = getattr(self, "grad_fn", None)
        return node.name() if node is not None else ""

    def _element(self):
        raise DataDependentOutputException("aten._local_scalar_dense.default: a fake tensor has no elements")

    item = __bool__ = __float__ = __int__ = __index__ = _element

    def nonzero(self, *, as_tuple=False):
        raise DynamicOutputShapeException("aten.nonzero.default: the size of the result depends on elements, and a "
                                          "fake tensor has none")

    def tolist(self):
        raise UnsupportedFakeTensorException("tolist(): a fake tensor has no elements")

    def numpy(self, *, force=False):
        raise UnsupportedFakeTensorException("numpy(): a fake tensor has no elements")


_C._set_fake_class(FakeTensor)

_active = []


class FakeTensorMode:
    """In the block, on this thread, factories make fake tensors and operators take fake tensors only.

    Args:
        allow_non_fake_inputs: whether real tensors among the arguments are made fake; else they are an error.

    Fake tensors work outside of the block, too. The mode may be entered again, also inside of itself.
    """

    def __init__(self, *, allow_fallback_kernels=True, allow_non_fake_inputs=False, shape_env=None, static_shapes=None,
                 export=False):
        if shape_env is not None:
            raise NotImplementedError("FakeTensorMode: there are no symbolic sizes in Shunt; shape_env must be None")
        self.allow_fallback_kernels = allow_fallback_kernels
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env, self.static_shapes, self.export = None, True, export
        self._converter = _C._fake_converter()
        self._saved = []

    def __enter__(self):
        self._saved.append(_C._tls_include(_C.DispatchKeySet("Fake"), True))
        _active.append(self)
        if self.allow_non_fake_inputs:
            self._functions = _MakeFake(self)
            self._functions.__enter__()
        return self

    def __exit__(self, *error):
        if self.allow_non_fake_inputs:
            self._functions.__exit__(*error)
        _active.remove(self)
        if not self._saved.pop():
            _C._tls_include(_C.DispatchKeySet("Fake"), False)

    def from_tensor(self, tensor, *, static_shapes=None, source=None, symbolic_context=None, trace=True):
        """The fake tensor of a real one, the same one each time: of its dtype, sizes, strides and device; a leaf, a
        view, or with a grad where the real one is or has that."""
        return _C._make_fake(self._converter, tensor)

    @property
    def fake_tensor_converter(self):
        return self


def _MakeFake(mode):
    """Real arguments as fake ones."""
    from shunt.overrides import TorchFunctionMode
    from shunt.utils._pytree import tree_map_only

    class MakeFake(TorchFunctionMode):

        def __torch_function__(self, func, types, args=(), kwargs=None):
            def fake(t):
                return t if _C._is_fake(t) else mode.from_tensor(t)

            return func(*tree_map_only(Tensor, fake, args), **tree_map_only(Tensor, fake, kwargs or {}))

    return MakeFake()


class FakeTensorConverter:
    """Makes fake tensors of real ones, and keeps in mind which of which."""

    def __init__(self, **options):
        self._converter = _C._fake_converter()

    def from_real_tensor(self, fake_mode, t, **options):
        return _C._make_fake(self._converter, t)


def is_fake(x):
    """Whether it is a fake tensor."""
    return _C._is_fake(x)


def maybe_get_fake_mode(t):
    """The mode that is on for a fake tensor, or None."""
    return _active[-1] if _active and _C._is_fake(t) else None


class unset_fake_temporarily:
    """No FakeTensorMode is on in the block. Gives the one that was."""

    def __enter__(self):
        self._before = _C._tls_include(_C.DispatchKeySet("Fake"), False)
        return _active[-1] if _active else None

    def __exit__(self, *error):
        if self._before:
            _C._tls_include(self._before, True)
