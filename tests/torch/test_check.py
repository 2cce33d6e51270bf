"""Checks: replays on copies, compared with the function, which catch what the rules overlook."""

import os
import subprocess
import sys
import warnings

import pytest
import shunt_torch
import torch
from capturing import check_captured, model_and_optimizer, program, same_as_eager, state_of
from shunt_torch import CheckFailed


def version_of(tensor):
    """An int that no operator gives, read where no recorder looks."""
    return torch._C.TensorBase._version.__get__(tensor)


class Hidden:
    """A value that no guard knows."""

    def __init__(self):
        self.values = torch.zeros(1)

    def read(self):
        return version_of(self.values)


def reads_what_is_hidden(check):
    hidden = Hidden()
    return hidden, shunt_torch.capture(lambda x: x + hidden.read(), check=check)


def test_first_warns_and_drops_the_recording():
    hidden, captured = reads_what_is_hidden("first")
    x = torch.zeros(2)
    for _ in range(4):
        captured(x)
    hidden.values.add_(1)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert captured(x).tolist() == [1, 1]  # the function's result stands
    assert "a replay of" in str(seen[0].message) and "result 0: 2 of 2 elements, the first 0.0 for 1.0" in str(seen[0].message)
    assert seen[0].filename == __file__
    for _ in range(3):
        hidden.values.add_(1)
        assert captured(x)[0] == hidden.values._version
    assert not captured._recordings and "result 0" in captured.explain()


def test_always_throws():
    hidden, captured = reads_what_is_hidden("always")
    x = torch.zeros(2)
    for _ in range(40):
        captured(x)
    hidden.values.add_(1)
    with pytest.raises(CheckFailed, match="result 0: 2 of 2 elements, the first 0.0 for 1.0"):
        captured(x)
    assert captured(x).tolist() == [1, 1]


def test_never_finds_nothing():
    hidden, captured = reads_what_is_hidden("never")
    x = torch.zeros(2)
    for _ in range(4):
        captured(x)
    hidden.values.add_(1)
    assert captured(x).tolist() == [0, 0]


def test_the_environment_decides_where_no_option_does(monkeypatch):
    monkeypatch.setenv("SHUNT_TORCH_CHECK", "always")
    assert shunt_torch.capture(lambda x: x)._check == "always"
    assert shunt_torch.capture(lambda x: x, check="never")._check == "never"
    monkeypatch.setenv("SHUNT_TORCH_CHECK", "ALWAYS")
    assert shunt_torch.capture(lambda x: x)._check == "always"


def test_a_bad_value_of_the_environment_warns_once():
    program = """
import shunt_torch
print([shunt_torch.capture(lambda x: x)._check for _ in range(2)])
"""
    ran = subprocess.run([sys.executable, "-c", program], env={**os.environ, "SHUNT_TORCH_CHECK": "allways"}, check=True,
                         capture_output=True, text=True)
    assert ran.stdout.strip() == "['first', 'first']"
    assert ran.stderr.count("SHUNT_TORCH_CHECK") == 1
    assert ("shunt: warning: SHUNT_TORCH_CHECK=allways: expected first, always or never; using first; did you mean "
            "'always'?\n") in ran.stderr


def test_gaps_double():
    counted = []
    captured = shunt_torch.capture(lambda x: x * 2)
    checked = captured._checked

    def counts(recording, *rest):
        counted.append(recording.runs)
        return checked(recording, *rest)

    captured._checked = counts
    for _ in range(103):
        captured(torch.ones(2))
    assert counted == [0, 1, 2, 6, 14, 30, 62]


@pytest.mark.parametrize("check", ["first", "always", "never"])
def test_checks_change_nothing(check):
    def make():
        p = model_and_optimizer()
        step = p.step

        def draws(x):
            return step(x + torch.randn(3)), torch.rand(1)

        p.step = draws
        return p

    def drive(p):
        out = []
        for _ in range(12):
            out.append((p.step(torch.randn(5, 3)), state_of(p), [w._version for w in p.model.parameters()], torch.rand(1)))
        return out

    check_captured(same_as_eager(make, drive, check=check), 8)


def test_an_error_in_a_checked_call():
    def make():
        counter = torch.zeros(3)

        def step(i):
            counter.add_(1)
            return counter[i] * 2

        return program(step, counter=counter)

    def drive(p):
        out = [p.step(torch.tensor([1])) for _ in range(3)]
        for _ in range(2):
            with pytest.raises(IndexError):
                p.step(torch.tensor([7]))
            out.append((p.counter.clone(), p.counter._version, torch.rand(1)))
        return out + [p.step(torch.tensor([1])) for _ in range(4)]

    check_captured(same_as_eager(make, drive), 3)


def test_versions_and_results_that_are_inputs_are_compared():
    values = torch.zeros(1)

    def other(x):
        return x if version_of(values) == 0 else x.clone()

    captured = shunt_torch.capture(other, check="always")
    x = torch.ones(2)
    for _ in range(5):
        assert captured(x) is x
    values.add_(1)
    with pytest.raises(CheckFailed, match="another structure"):
        captured(x)

    values = torch.zeros(1)

    def writes(x):
        if version_of(values):
            x.add_(0)
        x.add_(1)
        return None

    captured = shunt_torch.capture(writes, check="always")
    for _ in range(5):
        captured(torch.ones(2))
    values.add_(1)
    with pytest.raises(CheckFailed, match=r"the version of args\[0\] grew by 2 instead of 1"):
        captured(torch.ones(2))


def test_operators_of_others_are_checked_on_demand_only():
    with torch.library._scoped_library("shunt_torch_check", "FRAGMENT") as library:
        calls = []
        library.define("note(Tensor x) -> Tensor")
        library.impl("note", lambda x: calls.append(1) or x.clone(), "CPU")
        captured = shunt_torch.capture(lambda x: torch.ops.shunt_torch_check.note(x) * 2)
        before = []
        for _ in range(8):
            before.append(len(calls))
            captured(torch.ones(2))
        # Once a call: a check would run it twice. Recording compares a replay or two.
        assert [b - a for a, b in zip(before[3:], before[4:])][1:] == [1, 1, 1] or not captured._recordings
