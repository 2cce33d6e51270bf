"""FlopCounterMode: how many floating-point operations the products and convolutions of a block take.

    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    counter.get_total_flops()

A multiplication and an addition count as two operations. Operators other than products count as none.
"""

from collections import defaultdict
from math import prod

from shunt import _C
from shunt._ops import ops
from shunt.utils._python_dispatch import TorchDispatchMode

__all__ = ["FlopCounterMode", "flop_registry", "register_flop_formula"]

aten = ops.aten
flop_registry = {}  # a function of the call's arguments, tensors as their shapes, and out_shape=, by packet


def _shape_of(value):
    if isinstance(value, _C.TensorBase):
        return value.shape
    if isinstance(value, (tuple, list)):
        return type(value)(map(_shape_of, value)) if type(value) in (tuple, list) else value
    return value


def register_flop_formula(targets, get_raw=False):
    """A decorator for a function that counts an operator's operations: of its arguments, with shapes in the place of
    tensors, and out_shape=; with `get_raw` of the tensors, and out_val=."""

    def register(formula):
        def of_call(*args, out_val=None, **kwargs):
            if get_raw:
                return formula(*args, out_val=out_val, **kwargs)
            shapes = {name: _shape_of(value) for name, value in kwargs.items()}
            return formula(*map(_shape_of, args), out_shape=_shape_of(out_val), **shapes)

        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, _C.OpOverloadPacket):
                raise ValueError("register_flop_formula(): targets: expected operators such as shunt.ops.aten.mm, got "
                                 f"{target!r}")
            flop_registry[target] = of_call
        return formula

    return register


@register_flop_formula(aten.mm)
def mm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """(m, k) @ (k, n)."""
    return 2 * a_shape[0] * a_shape[1] * b_shape[1]


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape, a_shape, b_shape, *args, out_shape=None, **kwargs):
    """The product's."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """(b, m, k) @ (b, k, n)."""
    return 2 * a_shape[0] * a_shape[1] * a_shape[2] * b_shape[2]


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape, a_shape, b_shape, *args, out_shape=None, **kwargs):
    """The products'."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape, w_shape, out_shape, transposed=False):
    """Each place of the output, with `transposed` of the input, takes a product with the whole weight."""
    return 2 * x_shape[0] * prod((x_shape if transposed else out_shape)[2:]) * prod(w_shape)


@register_flop_formula(aten.convolution)
def conv_flop(x_shape, w_shape, bias, stride, padding, dilation, transposed, *args, out_shape=None, **kwargs):
    """A convolution's, without the bias."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(grad_out_shape, x_shape, w_shape, bias, stride, padding, dilation, transposed, output_padding,
                       groups, output_mask, out_shape):
    """Those of the gradients of input and weight that are asked for."""
    flop = 0
    if output_mask[0]:
        flop += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        # A convolution of the input, in which batch and channels change places, with the gradient.
        weight, x, grad = ((s[1], s[0], *s[2:]) for s in (out_shape[1], x_shape, grad_out_shape))
        flop += conv_flop_count(grad, x, weight) if transposed else conv_flop_count(x, grad, weight)
    return flop


def _in_words(flops):
    for suffix, size in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if flops >= size:
            return f"{flops / size:.3f}{suffix}"
    return str(flops)


class FlopCounterMode(TorchDispatchMode):
    """Counts the operations of the calls in the block, backward passes among them.

    Args:
        mods: a module, or several, to whose parts the operations of their forward passes are counted, too. Without it
            all count as "Global".
        depth: how many levels of modules the table has.
        display: whether the table is printed at the end of the block.
        custom_mapping: more formulas by operator, as register_flop_formula() takes them.
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        super().__init__()
        self.depth, self.display = depth, display
        self._modules = [] if mods is None else list(mods) if isinstance(mods, (list, tuple)) else [mods]
        self.flop_registry = dict(flop_registry)
        for target, formula in (custom_mapping or {}).items():
            raw = getattr(formula, "_get_raw", False)
            self.flop_registry[target] = formula if raw else _with_shapes(formula)
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        self._parents, self._handles = ["Global"], []

    def _count(self, packet, flops):
        for parent in set(self._parents):
            self.flop_counts[parent][packet] += flops

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        packet = func.overloadpacket
        formula = self.flop_registry.get(packet)
        if formula is not None:
            self._count(packet, formula(*args, **kwargs, out_val=out))
        return out

    def __enter__(self):
        self.flop_counts.clear()
        for root in self._modules:
            for name, module in root.named_modules():
                full = type(root).__name__ + ("." + name if name else "")
                self._handles += [
                    module.register_forward_pre_hook(lambda m, args, full=full: self._parents.append(full)),
                    module.register_forward_hook(lambda m, args, out: self._left(), always_call=True)]
        return super().__enter__()

    def _left(self):
        self._parents.pop()

    def __exit__(self, *error):
        for handle in self._handles:
            handle.remove()
        self._handles, self._parents = [], ["Global"]
        result = super().__exit__(*error)
        if self.display:
            print(self.get_table(self.depth))
        return result

    def get_total_flops(self):
        """The number of operations."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self):
        """The numbers by operator, by module: {"Global": {aten.mm: 96}}."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """The numbers as a table: modules, their operators, operations, and the share of all."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        lines = [f"{'Module':40}{'FLOP':>12}{'% Total':>12}"]
        for name in sorted(self.flop_counts, key=lambda name: (name != "Global", name)):
            if name.count(".") > depth:
                continue
            counts = self.flop_counts[name]
            for label, flops in [(name, sum(counts.values())),
                                 *((f" - {packet}", flops) for packet, flops in counts.items())]:
                lines.append(f"{label:40}{_in_words(flops):>12}{flops / total if total else 0:>12.2%}")
        return "\n".join(lines)


def _with_shapes(formula):
    def of_call(*args, out_val=None, **kwargs):
        shapes = {name: _shape_of(value) for name, value in kwargs.items()}
        return formula(*map(_shape_of, args), out_shape=_shape_of(out_val), **shapes)

    return of_call
