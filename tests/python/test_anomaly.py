"""Anomaly mode: the forward call whose backward failed."""

import warnings

import pytest

import shunt
from twins import torch


class Fails(shunt.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError("some error")


def detecting(**settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return shunt.autograd.detect_anomaly(**settings)


def a_line_to_find(x):
    return Fails.apply(x)


def test_the_forward_call_is_shown():
    x = shunt.ones(2, requires_grad=True)
    with detecting():
        y = a_line_to_find(x)
        with pytest.warns(UserWarning) as caught, pytest.raises(RuntimeError, match="some error"):
            y.sum().backward()
    text = str(caught[0].message)
    assert text.startswith("Error detected in FailsBackward. Traceback of forward call that caused the error:\n")
    assert "return Fails.apply(x)" in text and "a_line_to_find" in text


def test_without_the_mode_in_forward():
    x = shunt.ones(2, requires_grad=True)
    y = Fails.apply(x)
    with detecting(), pytest.warns(UserWarning, match="No forward pass information"), pytest.raises(RuntimeError):
        y.sum().backward()


def nan_of(lib):
    x = lib.tensor([-1.0, 1.0], requires_grad=True)
    return x, x.sqrt().sum()


def test_nans():
    for lib in (shunt, torch):
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            with lib.autograd.detect_anomaly():
                _, y = nan_of(lib)
                with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th "
                                                       "output."):
                    y.backward()
            with lib.autograd.detect_anomaly(check_nan=False):
                x, y = nan_of(lib)
                y.backward()
            assert bool(x.grad.isnan()[0])


def test_the_step_that_led_to_it():
    x = shunt.tensor([2.0], requires_grad=True)
    with detecting():
        y = Fails.apply(x) * 0 + x**3
        with pytest.raises(RuntimeError), pytest.warns(UserWarning, match="FailsBackward"):
            y.backward(create_graph=True)
        (g,) = shunt.autograd.grad((x**3).sum(), x, create_graph=True)
        z = g * float("nan")
        with pytest.warns(UserWarning) as caught, pytest.raises(RuntimeError, match="nan"):
            z.backward()
    assert "Error detected in MulBackward" in str(caught[0].message)


def test_the_mode():
    assert not shunt.is_anomaly_enabled()
    with pytest.warns(UserWarning, match=r"detect_anomaly\(\) records the stack"):
        mode = shunt.autograd.detect_anomaly(check_nan=False)
    with mode:
        assert shunt.is_anomaly_enabled() and not shunt.is_anomaly_check_nan_enabled()
    assert not shunt.is_anomaly_enabled()
    with shunt.autograd.set_detect_anomaly(True):
        assert shunt.is_anomaly_enabled()
    assert not shunt.is_anomaly_enabled()
    shunt.autograd.set_detect_anomaly(True)
    assert shunt.is_anomaly_enabled()
    shunt.autograd.set_detect_anomaly(False)
