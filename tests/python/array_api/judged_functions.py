"""A plugin of pytest for array-api-tests: which of its tests are judged.

Shunt has no complex numbers. The suite leaves out the dtypes that ARRAY_API_TESTS_SKIP_DTYPES names, but for one
place, which takes the largest of the complex dtypes where there may be none; it is given one. Tests of special cases of
complex numbers, of Fourier transforms and of what needs a decomposition of matrices are skipped.
"""

import functools
import importlib.util
import re
import sys

import array_api_tests
import pytest

_NAME = "array_api_tests.dtype_helpers"

_spec = importlib.util.find_spec(_NAME)
_module = importlib.util.module_from_spec(_spec)
_module.max = functools.partial(max, default=(array_api_tests.xp.float64, 0))
sys.modules[_NAME] = array_api_tests.dtype_helpers = _module
_spec.loader.exec_module(_module)

DECOMPOSITIONS = "eig|eigh|eigvals|eigvalsh|matrix_norm|matrix_rank|pinv|qr|svd|svdvals"

# What tests are not of, and their names: from the file's on.
LEFT_OUT = [
    ("complex numbers", r"(real|imag)\(x_i\)|^test_vecdot_conj$|^test_(real|imag|conj)$|__complex__"),
    ("Fourier transforms", r"^test_fft\.py|\[(fft-|fft\.)"),
    ("decompositions of matrices",
     rf"^test_linalg\.py::test_({DECOMPOSITIONS})(\[|$)|\[linalg[-.]({DECOMPOSITIONS})\]$"),
]


def reason_to_skip(test):
    """Why a test, by its name from the file's on, is not judged; None where it is."""
    name = test.removeprefix("array_api_tests/")
    for what, pattern in LEFT_OUT:
        if re.search(pattern, name) or re.search(pattern, name.partition("::")[2]):
            return what
    return None


def pytest_collection_modifyitems(items):
    for item in items:
        if what := reason_to_skip(item.nodeid):
            item.add_marker(pytest.mark.skip(reason=f"not judged: {what}"))
