"""What the tests of torch.compile(backend="shunt") share: a clean start, and the graphs of the test that runs."""

import gc

import pytest
import torch

from shunt_torch import graph as graph_module
from shunt_torch.graph import graphs

CALLS = 14  # past the measuring of plans
_older: list = []  # graphs of tests before, which Dynamo keeps where a function has breaks


@pytest.fixture
def fresh(monkeypatch):
    monkeypatch.setattr(graph_module, "_CLOSE", 1)  # measured calls don't depend on the machine
    torch._dynamo.reset()
    gc.collect()  # graphs of the test before
    torch.manual_seed(0)
    _older[:] = graphs()
    with torch._functorch.config.patch(enable_autograd_cache=False):
        yield
    _older.clear()


def mine():
    """The graphs that the test has made."""
    return [g for g in graphs() if g not in _older]
