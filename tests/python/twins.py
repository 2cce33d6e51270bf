"""Runs a piece of a program with PyTorch and with Shunt, and compares what it makes."""

import warnings

import pytest

import shunt

torch = pytest.importorskip("torch")


def plain(value):
    """A result without the library that it comes from."""
    if isinstance(value, (shunt.Tensor, torch.Tensor)):
        return [list(value.shape), str(value.dtype).split(".")[-1], value.tolist()]
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def outcome(program, lib):
    """What program(lib) returns, or the type and text of what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(program(lib))
        except Exception as error:
            return type(error).__name__, str(error)


def same(program, *, text=None):
    """The outcome, which is the same with both. Of errors the type is compared, and `text` is in both."""
    ours, theirs = outcome(program, shunt), outcome(program, torch)
    if isinstance(theirs, tuple):
        assert isinstance(ours, tuple) and ours[0] == theirs[0], f"expected {theirs}, got {ours}"
        for message in (ours[1], theirs[1]):
            assert text is None or text in message, (ours, theirs)
        assert text is not None or theirs[0] != "AttributeError", f"the program is wrong: {theirs}"
        return ours
    assert ours == theirs
    return ours


def close(program):
    """The same for numbers that may differ in their last bits."""
    ours, theirs = outcome(program, shunt), outcome(program, torch)
    assert _near(ours, theirs), f"expected {theirs}, got {ours}"


def _near(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_near(x, y) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == pytest.approx(b, rel=1e-5, abs=1e-6, nan_ok=True)
    return a == b
