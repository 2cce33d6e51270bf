"""The judge: an entry's samples through PyTorch and Shunt, in each aspect; what differs is told as (aspect, what)."""

import itertools
import warnings

import torch
from torch.utils._pytree import tree_map

import copying
import shunt
from comparing import difference, leaves_of
from crossing import CannotCross, to_shunt, to_torch
from operator_samples import drawn, inputs_of, is_differentiable, samples_of
from served import function_of, inplace_of, method_of
from transforms import compare_transforms

DTYPES = (torch.float32, torch.float64, torch.int64, torch.bool, torch.bfloat16)
# Their elements come from generators, or nobody has written them.
_ARBITRARY = (
    "empty",
    "empty_like",
    "new_empty",
    "new_empty_strided",
    "empty_strided",
    "empty_permuted",
    "resize_",
    "resize_as_",
    "nn.functional.dropout",
    "nn.functional.dropout2d",
    "nn.functional.dropout3d",
    "nn.functional.alpha_dropout",
    "nn.functional.feature_alpha_dropout",
    "nn.functional.rrelu",
    "bernoulli",
    "multinomial",
    "normal",
    "rand_like",
    "randn",
    "randn_like",
    "randint",
    "randint_like",
    "uniform",
    "exponential",
    "cauchy",
    "geometric",
    "log_normal",
    "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d",
)


def _drops(op, args, kwargs):
    """Whether a call of attention drops weights at random."""
    if op.name == "nn.functional.multi_head_attention_forward" and len(args) > 10:
        return args[10] > 0
    return bool(kwargs.get("dropout_p"))


# What a program's mistake is answered with; anything else is a defect of the one who raises it.
ERRORS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, OverflowError)


def _name(dtype):
    return str(dtype).removeprefix("torch.")


class Outcome:
    """What a call gave: a result, or an exception."""

    def __init__(self, call):
        self.result = self.error = None
        try:
            self.result = call()
        except Exception as e:  # whatever it is, it is compared
            self.error = e

    def __str__(self):
        return f"{type(self.error).__name__}: {self.error}"[:300] if self.error is not None else "a result"


def compare(op, ours, theirs, elements=True, dtype=None):
    """What differs of two outcomes; "" for nothing. `dtype`: what was computed in, where that may be less exact than
    the result."""
    if theirs.error is not None:
        if ours.error is None:
            return f"no error for {theirs}"
        return "" if isinstance(ours.error, type(theirs.error)) else f"{ours} for {theirs}"
    if ours.error is not None:
        return str(ours)
    return difference(op, ours.result, theirs.result, elements and op.name not in _ARBITRARY, dtype)


class Entry:
    """An entry of the table, judged."""

    def __init__(self, name, op, every=False):
        self.name, self.op, self.every = name, op, every
        self.found = []

    def tell(self, aspect, what):
        if what:
            self.found.append((aspect, what))

    def samples(self, dtype, requires_grad=False):
        """Drawn ones of those that PyTorch runs."""
        samples = samples_of(self.op, 0, dtype, requires_grad)
        chosen = range(len(samples)) if self.every else drawn(f"{self.name} {_name(dtype)}", samples)
        return [(i, samples[i]) for i in chosen]

    def judge(self):
        """What differs, in all aspects."""
        supported = self.op.supported_dtypes("cpu")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for dtype in DTYPES:
                if dtype in supported:
                    self._forward(dtype)
            if is_differentiable(self.op) and torch.float64 in supported:
                self._gradients()
            self._errors()
        return self.found

    def _call(self, ours, theirs, args, kwargs):
        """Both outcomes for equal inputs, the inputs after it, or None where they can't be had here."""
        copied = copying.copy_of((args, kwargs))
        try:
            crossed = to_shunt((args, kwargs))
        except CannotCross:
            return None
        a = Outcome(lambda: theirs(*copied[0], **copied[1]))
        b = Outcome(lambda: ours(*crossed[0], **crossed[1]))
        return b, a

    def _forward(self, dtype):
        function, method, inplace = function_of(self.op), method_of(self.op), inplace_of(self.op)
        for i, sample in self.samples(dtype):
            args, kwargs = inputs_of(sample)
            outcomes = self._call(function, self.op.op, args, kwargs)
            if outcomes is None:
                continue
            ours, theirs = outcomes
            elements = not _drops(self.op, args, kwargs)
            what = compare(self.op, ours, theirs, elements)
            if what and dtype is torch.bfloat16 and ours.error is None and theirs.error is None:
                what = what if self._is_less_exact(args, kwargs, ours.result, theirs.result) else ""
            self.tell(f"{_name(dtype)}", self._at(i, what))
            if dtype is not torch.float32 or theirs.error is not None or ours.error is not None:
                continue
            if not what:
                self._transforms(i, function, args, kwargs, ours.result, elements)
            if method is not None and self.op.method_variant is not None:
                both = self._call(method, self.op.method_variant, args, kwargs)
                self.tell("method", self._at(i, compare(self.op, *both)))
            if self.op.inplace_variant is not None and not sample.broadcasts_input:
                if inplace is None:
                    self.tell("in place", f"no method {self.op.inplace_variant}")
                else:
                    self.tell(
                        "in place",
                        self._at(i, compare(self.op, *self._call(inplace, self.op.inplace_variant, args, kwargs))),
                    )
            if self.op.supports_out and isinstance(theirs.result, torch.Tensor):
                self._out(i, function, args, kwargs, theirs.result)

    def _transforms(self, i, function, args, kwargs, expected, elements):
        """Under compile, vmap, functionalize and fake tensors, as eager."""
        args, kwargs = to_shunt(copying.copy_of((args, kwargs)))
        for name, what in compare_transforms(
            function, args, kwargs, expected, elements and self.op.name not in _ARBITRARY
        ):
            self.tell(name, self._at(i, what))

    def _is_less_exact(self, args, kwargs, ours, theirs):
        """Whether the result in bfloat16 is further from that in float32 than PyTorch's: than twice its largest
        distance and one unit
        in the last place. Both round between their steps, which aren't the same."""
        wide = tree_map(
            lambda x: x.float() if isinstance(x, torch.Tensor) and x.dtype is torch.bfloat16 else x, (args, kwargs)
        )
        exact = Outcome(lambda: self.op.op(*wide[0], **wide[1]))
        a, b, c = leaves_of(ours), leaves_of(theirs), leaves_of(exact.result)
        if exact.error is not None or not len(a) == len(b) == len(c):
            return True
        for x, y, z in zip(a, b, c):
            if not isinstance(y, torch.Tensor) or y.dtype is not torch.bfloat16:
                continue
            if tuple(x.shape) != tuple(y.shape) or x.dtype is not shunt.bfloat16:
                return True
            x, y, z = to_torch(x.detach()).float(), y.float(), z.float()
            finite = z.isfinite() & y.isfinite()
            if not torch.equal(x[~finite], y[~finite]) and not torch.equal(x.isnan(), y.isnan()):
                return True
            if not finite.any():
                continue
            off, allowed = (x - z)[finite].abs().max(), (y - z)[finite].abs().max()
            if not off <= 2 * allowed + z[finite].abs().max() * 2.0**-8:
                return True
        return False

    def _at(self, i, what):
        return what and f"sample {i}: {what}"

    def _out(self, i, function, args, kwargs, result):
        """out= as it should be, of another shape, transposed, of another dtype."""
        outs = {
            "": torch.full_like(result, 1 if result.dtype is torch.bool else 7),
            " of another shape": torch.empty((0,), dtype=result.dtype),
            " transposed": torch.zeros(tuple(result.shape)[::-1], dtype=result.dtype).permute(
                tuple(range(result.dim()))[::-1]
            ),
            " of another dtype": torch.zeros_like(
                result, dtype=torch.int32 if result.dtype.is_floating_point else torch.float32
            ),
            " of float64": torch.zeros_like(result, dtype=torch.float64),
        }
        if self.op.name in ("tril", "triu"):
            del outs[" transposed"]  # PyTorch 2.13 writes beyond its end
        for which, out in outs.items():
            both = self._call(function, self.op.op, args, dict(kwargs, out=out))
            self.tell(
                "out=",
                self._at(i, which + " " * bool(which)) + what
                if (what := compare(self.op, *both, dtype=torch.float32))
                else "",
            )

    def _gradients(self):
        function = function_of(self.op)
        for i, sample in self.samples(torch.float64, requires_grad=True):
            args, kwargs = inputs_of(sample)
            copied = copying.copy_of((args, kwargs))
            try:
                crossed = to_shunt((args, kwargs))
            except CannotCross:
                continue
            theirs = Outcome(lambda: self.op.op(*copied[0], **copied[1]))
            ours = Outcome(lambda: function(*crossed[0], **crossed[1]))
            random = self.op.name in _ARBITRARY or _drops(self.op, args, kwargs)
            what = compare(self.op, ours, theirs, elements=not random)
            if not what and theirs.error is None and not random:
                what = self._gradients_of(ours.result, theirs.result, crossed, copied)
            self.tell("gradients", self._at(i, what))

    def _gradients_of(self, ours, theirs, our_inputs, their_inputs):
        a, b = leaves_of(ours), leaves_of(theirs)
        wanted = [k for k, t in enumerate(b) if isinstance(t, torch.Tensor) and t.requires_grad]
        inputs = [
            (x, y)
            for x, y in zip(_tensors(our_inputs, shunt.Tensor), _tensors(their_inputs, torch.Tensor))
            if y.requires_grad
        ]
        if not wanted or not inputs:
            return ""
        generator = torch.Generator().manual_seed(0)
        cotangents = [torch.randn(b[k].shape, dtype=b[k].dtype, generator=generator) for k in wanted]
        reference = Outcome(
            lambda: torch.autograd.grad([b[k] for k in wanted], [y for _, y in inputs], cotangents, allow_unused=True)
        )
        got = Outcome(
            lambda: shunt.autograd.grad(
                [a[k] for k in wanted], [x for x, _ in inputs], to_shunt(cotangents), allow_unused=True
            )
        )
        if reference.error is not None:
            return ""
        if got.error is not None:
            return f"backward: {got}"
        for k, (x, y) in enumerate(zip(got.result, reference.result)):
            # A gradient of zeros may be none.
            if y is None or x is None:
                if (y is not None and bool((y != 0).any())) or (x is not None and bool((x != 0).any())):
                    return f"gradient {k}: {x} for {y}"
                continue
            what = difference(self.op, x.contiguous(), y.contiguous())
            if what:
                return f"gradient {k}: {what}"
        return ""

    def _errors(self):
        if self.op.error_inputs_func is None:
            return
        function = function_of(self.op)
        for i, error in enumerate(itertools.islice(self.op.error_inputs("cpu"), 100)):
            args, kwargs = inputs_of(error.sample_input)
            both = self._call(function, self.op.op, args, kwargs)
            if both is not None and both[1].error is not None:
                self.tell("errors", self._at(i, compare(self.op, *both)))


def _tensors(tree, kind):
    """Of arguments: the tensors, each once, in order."""
    found, seen = [], set()

    def walk(x):
        if isinstance(x, kind):
            if id(x) not in seen:
                seen.add(id(x))
                found.append(x)
        elif isinstance(x, tuple | list):
            for item in x:
                walk(item)
        elif isinstance(x, dict):
            for item in x.values():
                walk(item)

    walk(tree)
    return found
