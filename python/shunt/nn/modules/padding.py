"""Padding of the last one, two or three dimensions: by a constant, by the border, mirrored, or from the other end."""

from shunt.nn import functional as F
from shunt.nn.modules.module import Module


class _Pad(Module):
    """padding: how many elements before and after, the last dimension first; one number for all."""

    _dims = None
    _mode = None

    def __init__(self, padding):
        super().__init__()
        count = 2 * self._dims
        self.padding = (padding,) * count if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != count:
            raise ValueError(f"{type(self).__name__}: padding must be one int or {count} ints, but got {padding}")

    def _check(self, input):
        """ValueError for an input of another number of dimensions, where the mode can't pad it."""

    def forward(self, input):
        self._check(input)
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class _CircularPad(_Pad):
    def _check(self, input):
        low = self._dims + 1
        if input.dim() not in (low, low + 1):
            raise ValueError(
                f"{type(self).__name__}: expected input with {low} or {low + 1} dimensions, got {input.dim()}"
            )


_OVER = {
    1: "the last dimension. Input (N, C, L) or (C, L).",
    2: "the last two dimensions. Input (N, C, H, W) or (C, H, W).",
    3: "the last three dimensions. Input (N, C, D, H, W) or (C, D, H, W).",
}


def _pads(name, base, mode, doc):
    """The classes of one kind, for one, two and three dimensions."""
    return [
        type(
            f"{name}{n}d",
            (base,),
            {
                "_dims": n,
                "_mode": mode,
                "__doc__": f"{doc} {_OVER[n]}",
                "__module__": "shunt.nn",
                "__qualname__": f"{name}{n}d",
            },
        )
        for n in (1, 2, 3)
    ]


ConstantPad1d, ConstantPad2d, ConstantPad3d = _pads("ConstantPad", _ConstantPad, "constant", "Puts `value` around")
ZeroPad1d, ZeroPad2d, ZeroPad3d = _pads("ZeroPad", _ZeroPad, "constant", "Puts zeros around")
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = _pads("ReflectionPad", _Pad, "reflect", "Mirrors the input around")
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = _pads(
    "ReplicationPad", _Pad, "replicate", "Repeats the border around"
)
CircularPad1d, CircularPad2d, CircularPad3d = _pads(
    "CircularPad", _CircularPad, "circular", "Continues from the other end around"
)
