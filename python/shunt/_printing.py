"""How tensors print: the layout of PyTorch's repr, and its options."""

import math

from shunt import _C

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
_options = {**_PROFILES["default"], "sci_mode": None}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Sets how tensors print.

    Args:
        precision: digits after the point (4).
        threshold: number of elements above which the middle is left out (1000).
        edgeitems: elements shown at each end of a dimension then (3).
        linewidth: characters a line (80).
        profile: "default", "short" or "full", which the other arguments change.
        sci_mode: whether numbers print as 1.0000e+00; None (the default) decides by their size.
    """
    _options.update(_PROFILES.get(profile, {}))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({name: value for name, value in given.items() if value is not None})
    _options["sci_mode"] = sci_mode


def get_printoptions():
    """The options that set_printoptions() sets, as a dictionary."""
    return dict(_options)


class printoptions:
    """Sets options for a block: `with printoptions(precision=2): ...`"""

    def __init__(self, **options):
        self._given = options

    def __enter__(self):
        self._before = get_printoptions()
        set_printoptions(**{"sci_mode": self._before["sci_mode"], **self._given})

    def __exit__(self, *error):
        _options.update(self._before)


class _Format:
    """How the shown elements of one tensor are written, all of one width."""

    def __init__(self, elements, is_floating, precision, sci_mode):
        self.precision = precision
        self.is_floating = is_floating
        self.whole, self.scientific = True, False
        if not is_floating:
            self.width = max((len(str(e)) for e in elements), default=1)
            return
        # Zeros, infinities and nan decide nothing, and may be wider than the others.
        numbers = [e for e in elements if e != 0 and math.isfinite(e)]
        if not numbers:
            self.width = 1
            return
        self.whole = all(e == math.ceil(e) for e in numbers)
        smallest, largest = min(map(abs, numbers)), max(map(abs, numbers))
        self.scientific = (largest / smallest > 1000 or largest > 1e8 or (not self.whole and smallest < 1e-4)
                           if sci_mode is None else sci_mode)
        self.width = max(len(self.text(e)) for e in numbers)

    def text(self, element):
        if not self.is_floating:
            return str(element)
        if self.scientific:
            return f"{element:.{self.precision}e}"
        if self.whole:
            return f"{element:.0f}." if math.isfinite(element) else f"{element:.0f}"
        return f"{element:.{self.precision}f}"

    def __call__(self, element):
        return self.text(element).rjust(self.width)


def _flat(nested, dims):
    for _ in range(dims - 1):
        nested = [element for part in nested for element in part]
    return nested if dims > 0 else [nested]


class _Layout:
    """The nested lists as lines."""

    def __init__(self, tensor, edge):
        self.shape = tuple(tensor.shape)
        self.edge = edge  # None: nothing is left out
        self.elements = _C._nested_elements(tensor, -1 if edge is None else edge)
        self.format = _Format(_flat(self.elements, len(self.shape)), tensor.is_floating_point(), _options["precision"],
                              _options["sci_mode"])

    def parts(self, texts, dim, gap):
        if self.edge is None or self.shape[dim] <= 2 * self.edge:
            return texts
        return [*texts[:self.edge], gap, *texts[self.edge:]]

    def vector(self, elements, dim, indent):
        texts = self.parts([self.format(e) for e in elements], dim, " ..." if self.edge else "...")
        per_line = max(1, (_options["linewidth"] - indent) // (self.format.width + 2))
        lines = [", ".join(texts[i:i + per_line]) for i in range(0, len(texts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"

    def text(self, elements, dim, indent):
        dims_left = len(self.shape) - dim
        if dims_left == 0:
            return self.format(elements)
        if dims_left == 1:
            return self.vector(elements, dim, indent)
        slices = self.parts([self.text(e, dim + 1, indent + 1) for e in elements], dim, "...")
        return "[" + ("," + "\n" * (dims_left - 1) + " " * (indent + 1)).join(slices) + "]"


def _values(tensor, indent):
    if tensor.is_meta or _C._is_wrapper_subclass(tensor):
        return "..."
    if tensor.numel() == 0:
        return "[]"
    edge = max(int(_options["edgeitems"]), 0) if tensor.numel() > _options["threshold"] else None
    layout = _Layout(tensor, edge)
    return layout.text(layout.elements, 0, indent)


def _suffixes(tensor):
    is_default = tensor.dtype is _C.get_default_dtype()
    dtype = [] if is_default else [f"dtype={tensor.dtype}"]
    if not tensor.is_cpu:
        yield f"device='{tensor.device}'"
    without = tensor.is_meta or _C._is_wrapper_subclass(tensor)
    if without or tensor.numel() == 0:
        if without or tensor.dim() != 1:
            yield f"size={tuple(tensor.shape)}"
        yield from dtype
    elif tensor.dtype not in (_C.int64, _C.bool):
        yield from dtype
    name = _C._grad_fn_name(tensor)
    if name:
        yield f"grad_fn=<{name}>"
    elif tensor.requires_grad:
        yield "requires_grad=True"


def tensor_text(tensor):
    """The tensor as repr() shows it: "tensor([1., 2.], grad_fn=<AddBackward0>)"."""
    text = _C._wrapper_text(tensor)
    if text is not None:
        return text.replace("torch.", _C._shown_package() + ".")
    from shunt import Tensor
    cls = type(tensor)
    name = "tensor" if cls is Tensor or "_prints_as_tensor" in vars(cls) else cls.__name__
    indent = len(name) + 1
    text = f"{name}({_values(tensor, indent)}"
    line_length = len(text) - text.rfind("\n") + 1
    for suffix in _suffixes(tensor):
        if line_length + len(suffix) + 2 > _options["linewidth"]:
            text += ",\n" + " " * indent + suffix
            line_length = indent + len(suffix)
        else:
            text += ", " + suffix
            line_length += len(suffix) + 2
    return text + ")"
