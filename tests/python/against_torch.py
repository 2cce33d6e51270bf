"""Runs an expression with PyTorch and with Shunt, and compares what comes out: the text of the result, or the type of
the exception. In the expression, `torch` is the library."""

import copy
import math
import pickle
import warnings

import numpy as np
import torch

import shunt


def _names(library):
    class Sub(library.Tensor):
        pass

    class Floating:
        def __float__(self):
            return 2.5

    class Index:
        def __index__(self):
            return 7

    class Sequence:
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return [1, 2][i]

    read_only = np.arange(3.0)
    read_only.flags.writeable = False
    circle = [1]
    circle.append(circle)
    y = library.ones(2, requires_grad=True)
    with_attribute = library.ones(2)
    with_attribute.foo = [1]
    return {"torch": library, "np": np, "copy": copy, "math": math, "pickle": pickle, "Sub": Sub, "Floating": Floating,
            "Index": Index, "Sequence": Sequence, "read_only": read_only, "circle": circle, "x": library.ones(3),
            "y": y, "z": y * 2, "with_attribute": with_attribute}


def outcome(expression, library):
    """(text or type of the exception, number of UserWarnings)"""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = repr(eval(expression, _names(library)))
        except Exception as error:
            return type(error).__name__, None
    count = sum(w.category is UserWarning for w in caught)
    return result.replace("shunt", "torch"), count


def same(expression, warnings_too=True):
    expected, got = outcome(expression, torch), outcome(expression, shunt)
    assert got[0] == expected[0], expression
    # PyTorch warns once in a process of some things.
    if warnings_too and expected[1] is not None:
        assert got[1] == expected[1], expression
