"""A plugin of pytest for tinygrad's test/backend/test_ops.py: the torch side of its tests, without tinygrad's.

Each test calls functions of torch's and tinygrad's, and compares results and gradients. tinygrad compiles every one,
which takes an hour. Here those of PyTorch are kept in the file RECORDED names in a first run, and Shunt's compared with
them in a second one, within the test's tolerances.
"""

import os
import pathlib
import pickle
import sys

import numpy
import same_draws  # tests draw indices by torch.randint
import torch

_FILE = pathlib.Path(os.environ["RECORDED"])
_COMPARES = hasattr(torch, "_shunts")
_results = pickle.loads(_FILE.read_bytes()) if _COMPARES else {}
_current = ["", 0]  # the test, and how many comparisons it had


def _inputs(low, high, shapes, values, forward_only):
    if shapes is None:
        tensors = [torch.tensor(value, requires_grad=not forward_only) for value in values]
    else:
        numpy.random.seed(0)
        arrays = [numpy.random.uniform(low=low, high=high, size=shape).astype(numpy.float32) for shape in shapes]
        tensors = [torch.tensor(array, requires_grad=not forward_only) for array in arrays]
    return [tensor.type(torch.int32) if tensor.dtype == torch.int64 else tensor for tensor in tensors]


def _compare(shps, torch_fxn, tinygrad_fxn=None, atol=1e-6, rtol=1e-3, grad_atol=1e-4, grad_rtol=1e-3,
             forward_only=False, vals=None, low=-2, high=2):
    tensors = _inputs(low, high, shps, vals, forward_only)
    found = [torch_fxn(*tensors)]
    if not forward_only and tensors:
        found += torch.autograd.grad(torch_fxn(*tensors).sum(), tensors)
    found = [tensor.detach().cpu().numpy() for tensor in found]
    key = tuple(_current)
    _current[1] += 1
    if not _COMPARES:
        _results[key] = found
        return
    for place, (ours, theirs) in enumerate(zip(found, _results[key], strict=True)):
        what = f"gradient {place - 1}" if place else "result"
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), what
        tolerance = {"atol": grad_atol, "rtol": grad_rtol} if place else {"atol": atol, "rtol": rtol}
        numpy.testing.assert_allclose(ours, theirs, err_msg=what, **tolerance)


def _raises(self, shps, torch_fxn, tinygrad_fxn=None, expected=None, forward_only=False, exact=False, vals=None,
            low=-1.5, high=1.5):
    with self.assertRaises(expected):
        torch_fxn(*_inputs(low, high, shps, vals, forward_only))


def pytest_collection_modifyitems(items):
    module = sys.modules[items[0].module.__name__]
    module.helper_test_op = _compare
    module.TestOps.helper_test_exception = _raises


def pytest_runtest_setup(item):
    same_draws.numbers.seed(0)
    _current[:] = [item.nodeid, 0]


def pytest_sessionfinish():
    if not _COMPARES:
        _FILE.write_bytes(pickle.dumps(_results))
