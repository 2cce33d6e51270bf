"""Compares results under autocast, for each policy in shunt._autocast, with PyTorch's."""

import pytest

import shunt

torch = pytest.importorskip("torch")

from autocast_programs import PROGRAMS, UNCAST, values  # noqa: E402
from twins import outcome  # noqa: E402

LOW = ("bfloat16", "float16")


def _under_autocast(program, low, dtype):
    def run(L):
        def t(*sizes):
            return values(L, *sizes).to(getattr(L, dtype))

        with L.autocast("cpu", dtype=getattr(L, low)):
            result = program(L, t)
        return str(result.dtype).split(".")[-1], result.float().tolist()

    return run


def _near(ours, theirs, tolerance):
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(_near(a, b, tolerance) for a, b in zip(ours, theirs))
    return ours == pytest.approx(theirs, rel=tolerance, abs=tolerance, nan_ok=True)


def _check(program, low, exact=True):
    for dtype in ("float32", low):
        run = _under_autocast(program, low, dtype)
        ours, theirs = outcome(run, shunt), outcome(run, torch)
        assert ours[0] == theirs[0], (low, dtype, ours, theirs)
        computed_in = "float32" if theirs[0] == "float32" and exact else low
        assert _near(ours[1], theirs[1], {"float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}[computed_in])


@pytest.mark.parametrize("low", LOW)
@pytest.mark.parametrize("name", PROGRAMS)
def test_policy(name, low):
    for program in PROGRAMS[name]:
        # PyTorch's bilinear computes in the lower precision and returns the dtype of its arguments.
        _check(program, low, exact=name != "bilinear")


@pytest.mark.parametrize("low", LOW)
@pytest.mark.parametrize("place", range(len(UNCAST)))
def test_without_a_policy(place, low):
    _check(UNCAST[place], low)


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"proj_size": 2}])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_lstm(options, dtype):
    def run(L):
        with L.autocast("cpu"):
            y, (h, c) = L.nn.LSTM(4, 5, **options)(values(L, 2, 3, 4).to(getattr(L, dtype)))
        return [str(t.dtype).split(".")[-1] for t in (y, h, c)]

    assert outcome(run, shunt) == outcome(run, torch)
