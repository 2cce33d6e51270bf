"""assert_close."""

import math
from collections.abc import Mapping, Sequence

from shunt import _C
from shunt import _operators as ops

_TOLERANCES = {
    _C.float16: (1e-3, 1e-5),
    _C.bfloat16: (1.6e-2, 1e-5),
    _C.float32: (1.3e-6, 1e-5),
    _C.float64: (1e-7, 1e-7),
}
_NUMBERS = (bool, int, float)


class _Settings:
    def __init__(self, rtol, atol, equal_nan, **checks):
        if (rtol is None) != (atol is None):
            given, missing = ("rtol", "atol") if atol is None else ("atol", "rtol")
            raise ValueError(
                f"rtol and atol must both be specified or both be unspecified, but got "
                f"{given}={rtol if atol is None else atol} and {missing}=None"
            )
        self.rtol, self.atol, self.equal_nan, self.checks = rtol, atol, equal_nan, checks

    def tolerances(self, *dtypes):
        """(rtol, atol): those that were given, or the largest of the dtypes'."""
        if self.rtol is not None:
            return self.rtol, self.atol
        return tuple(map(max, zip(*(_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes))))


def _fail(where, message, given):
    place = "\n\nThe failure occurred for item " + "".join(f"[{part!r}]" for part in where) if where else ""
    if given is not None:
        message = given(message) if callable(given) else given
        place = "" if not callable(given) else place
    raise AssertionError(message + place)


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """AssertionError unless |actual - expected| <= atol + rtol * |expected| for all elements.

    Args:
        actual, expected: tensors, what tensors are made of, numbers, None, or sequences and mappings of them.
        allow_subclasses: whether the tensors' classes may differ.
        rtol, atol: both or neither; by default they follow from the dtypes, and are 0 for integers.
        equal_nan: whether NaN equals NaN.
        check_device, check_dtype, check_layout, check_stride: what else has to be equal.
        msg: the error's text, or a function that makes it of the usual one.
    """
    settings = _Settings(
        rtol, atol, equal_nan, device=check_device, dtype=check_dtype, layout=check_layout, stride=check_stride
    )
    _compare(actual, expected, settings, (), msg, allow_subclasses)


def _compare(actual, expected, settings, where, msg, allow_subclasses):
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            missing, more = (
                sorted(map(repr, expected.keys() - actual.keys())),
                sorted(map(repr, actual.keys() - expected.keys())),
            )
            _fail(
                where,
                f"the mappings' keys differ: missing [{', '.join(missing)}], unexpected [{', '.join(more)}]",
                msg,
            )
        for key in actual:
            _compare(actual[key], expected[key], settings, (*where, key), msg, allow_subclasses)
        return
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            _fail(where, f"the sequences' lengths differ: expected {len(expected)}, got {len(actual)}", msg)
        for i, (a, e) in enumerate(zip(actual, expected)):
            _compare(a, e, settings, (*where, i), msg, allow_subclasses)
        return
    if actual is None or expected is None:
        if actual is not expected:
            _fail(where, f"one is None: expected {expected}, got {actual}", msg)
        return
    if isinstance(actual, _NUMBERS) and isinstance(expected, _NUMBERS):
        _compare_numbers(actual, expected, settings, where, msg)
        return
    a, e = _tensor(actual), _tensor(expected)
    alike = type(actual) is type(expected) or (
        allow_subclasses and isinstance(actual, _NUMBERS) == isinstance(expected, _NUMBERS)
    )
    if a is None or e is None or not alike:
        raise TypeError(f"expected values that compare, got {type(actual).__name__} and {type(expected).__name__}")
    _compare_tensors(a, e, settings, where, msg)


def _is_sequence(x):
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes))


def _tensor(x):
    if isinstance(x, _C.TensorBase):
        return x
    try:
        from shunt import as_tensor

        return as_tensor(x)
    except (TypeError, ValueError, RuntimeError):
        return None


def _close(a, e, rtol, atol, equal_nan):
    if a == e:
        return True
    if math.isnan(a) or math.isnan(e):
        return equal_nan and math.isnan(a) and math.isnan(e)
    return math.isfinite(e) and abs(a - e) <= atol + rtol * abs(e)


def _dtype_of(number):
    return _C.bool if isinstance(number, bool) else _C.int64 if isinstance(number, int) else _C.float64


def _allowed(exact, tolerance):
    return "" if exact else f", {tolerance} allowed"


def _compare_numbers(actual, expected, settings, where, msg):
    if settings.checks["dtype"] and type(actual) is not type(expected):
        _fail(where, f"the types differ: expected {type(expected).__name__}, got {type(actual).__name__}", msg)
    rtol, atol = settings.tolerances(_dtype_of(actual), _dtype_of(expected))
    if _close(actual, expected, rtol, atol, settings.equal_nan):
        return
    exact = rtol == 0 and atol == 0
    text = f"numbers differ: expected {expected}, got {actual}"
    if not isinstance(actual, bool):
        difference = abs(actual - expected)
        relative = difference / abs(expected) if expected else math.inf
        text += f"\nabsolute difference {difference}{_allowed(exact, atol)}"
        text += f"\nrelative difference {relative}{_allowed(exact, rtol)}"
    _fail(where, text, msg)


def _check_attributes(a, e, settings, where, msg):
    def differ(name, x, y):
        _fail(where, f"the {name}s differ: expected {y}, got {x}", msg)

    if a.shape != e.shape:
        differ("shape", a.shape, e.shape)
    if settings.checks["layout"] and a.layout != e.layout:
        differ("layout", a.layout, e.layout)
    if settings.checks["device"] and a.device != e.device:
        differ("device", a.device, e.device)
    if settings.checks["dtype"] and a.dtype is not e.dtype:
        differ("dtype", a.dtype, e.dtype)
    if settings.checks["stride"] and a.stride() != e.stride():
        _fail(where, f"the strides differ: expected {e.stride()}, got {a.stride()}", msg)


def _compare_tensors(actual, expected, settings, where, msg):
    a, e = actual.detach(), expected.detach()
    _check_attributes(a, e, settings, where, msg)
    rtol, atol = settings.tolerances(a.dtype, e.dtype)
    if a.is_meta or e.is_meta:
        raise ValueError("assert_close(): expected tensors with elements, got one of the meta device")
    if a.dtype is not e.dtype:
        common = _C.promote_types(a.dtype, e.dtype)
        a, e = a.to(common), e.to(common)
    matches = a == e if a.dtype is _C.bool else ops.isclose(a, e, rtol, atol, settings.equal_nan)
    if bool(matches.all()):
        return
    _fail(where, _report(a, e, matches, rtol, atol), msg)


def _report(a, e, matches, rtol, atol):
    """How many elements differ, and which the most."""
    exact = rtol == 0 and atol == 0
    wrong, total = int((~matches).sum()), matches.numel()
    a, e = (x.to(_C.float64 if x.is_floating_point() else _C.int64) for x in (a, e))
    difference = (a - e).abs()
    quotient = difference / e.abs()
    if a.dim() == 0:
        lines = [f"tensors differ: expected {e.item()}, got {a.item()}"]
    else:
        lines = [f"tensors differ in {wrong} of {total} elements ({wrong / total:.1%})"]
    for name, values, allowed in (("absolute", difference, atol), ("relative", quotient, rtol)):
        values = values.masked_fill(matches, 0)
        place = int(values.reshape((-1,)).argmax())
        most = values.reshape((-1,))[place].item()
        if a.dim() == 0:
            lines.append(f"{name} difference {most}{_allowed(exact, allowed)}")
            continue
        at = []
        for n in reversed(a.shape):
            place, i = divmod(place, n)
            at.insert(0, i)
        lines.append(f"largest {name} difference {most} at {tuple(at)}{_allowed(exact, allowed)}")
    return "\n".join(lines)
