"""Runs a program that is a test of PyTorch's: python [-m shunt] -m with_test_cases FILE ...

Where torch is Shunt, torch.testing._internal.common_utils, which the program imports, is what stands here.
"""

import contextlib
import functools
import gc
import sys
import types
import unittest

import torch
import torch.testing


class TestCase(unittest.TestCase):
    """unittest's, whose assertEqual compares tensors by assert_close."""

    def assertEqual(self, first, second, msg=None):
        if isinstance(first, torch.Tensor) or isinstance(second, torch.Tensor):
            torch.testing.assert_close(first, second, msg=msg)
        else:
            super().assertEqual(first, second, msg)

    def assertExpectedInline(self, actual, expected, skip=0):
        self.assertEqual(actual.strip(), expected.strip().replace("torch.", "shunt."))


@contextlib.contextmanager
def disable_gc():
    """Without Python's collector of cycles in the block."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def parametrize(name, values, name_fn=str):
    """A decorator of a test: it runs with each of the values as an argument of this name."""

    def decorate(test):
        test.parameters = [(name_fn(value), {name: value}) for value in values]
        return test

    return decorate


def instantiate_parametrized_tests(case):
    """Makes a test of each value of the tests that parametrize() has decorated."""
    for name, test in list(vars(case).items()):
        for suffix, arguments in getattr(test, "parameters", ()):
            setattr(case, f"{name}_{suffix}", functools.partialmethod(test, **arguments))
        if hasattr(test, "parameters"):
            delattr(case, name)


def run_tests():
    """Runs the tests of the program. Those that are expected to fail, for faults of PyTorch's, may pass."""
    result = unittest.main(module="__main__", argv=sys.argv[:1], exit=False).result
    sys.exit(bool(result.failures or result.errors))


if __name__ == "__main__":
    if hasattr(torch, "_shunts"):
        for name in ("torch.testing._internal", "torch.testing._internal.common_utils"):
            sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(
            TestCase=TestCase, disable_gc=disable_gc, instantiate_parametrized_tests=instantiate_parametrized_tests,
            parametrize=parametrize, run_tests=run_tests)
    sys.argv = sys.argv[1:]
    sys.path[0] = sys.argv[0].rpartition("/")[0]
    # A module of this name, so that unittest finds the program's tests.
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    module.__file__ = sys.argv[0]
    with open(sys.argv[0]) as file:
        code = compile(file.read(), sys.argv[0], "exec")
    exec(code, module.__dict__)
