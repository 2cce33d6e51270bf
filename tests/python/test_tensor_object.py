"""One object for one tensor: identity, attributes, weak references, classes of a program's own."""

import gc
import os
import subprocess
import sys
import weakref

import pytest

import shunt


class Labelled(shunt.Tensor):
    pass


def test_the_same_tensor_is_the_same_object():
    x = shunt.ones(2, requires_grad=True)
    y = x * 2
    assert y.grad is None
    y.sum().backward()
    assert x.grad is x.grad
    assert x.requires_grad_() is x


def test_attributes_live_as_long_as_the_tensor_does():
    x = shunt.ones(2, requires_grad=True)
    x.grad = shunt.zeros(2)
    x.grad.label = "kept"
    gc.collect()
    assert x.grad.label == "kept"


def test_attributes_may_refer_in_a_circle():
    class Marker:
        pass

    x = shunt.ones(2)
    x.marker = Marker()
    x.marker.tensor = x
    gone = weakref.ref(x.marker)
    del x
    gc.collect()
    assert gone() is None


def test_weak_references():
    x = shunt.ones(2)
    reference = weakref.ref(x)
    assert reference() is x
    del x
    assert reference() is None


def test_a_weak_reference_lives_while_cpp_has_the_tensor():
    x = shunt.ones(2, requires_grad=True)
    x.grad = shunt.zeros(2)
    reference = weakref.ref(x.grad)
    gc.collect()
    assert reference() is x.grad
    x.grad = None
    assert reference() is None


def test_many_tensors_take_no_memory_that_stays():
    program = """
import resource, shunt
peaks = []
for _ in range(3):
    for _ in range(100000):
        shunt.ones(1000) + 1
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(peaks[-1] - peaks[0])
"""
    # The compiler takes memory, too, once, at some time.
    run = subprocess.run([sys.executable, "-c", program], env={**os.environ, "SHUNT_JIT": "0"}, capture_output=True,
                         check=True)
    assert int(run.stdout) < 1024


def test_tensors_hash_by_identity():
    x, y = shunt.ones(1), shunt.ones(1)
    assert len({x, y, x}) == 2


@pytest.mark.skipif(sys.version_info < (3, 12), reason="__buffer__ is there from Python 3.12 on")
def test_a_buffer_without_a_shape_is_bytes_in_one_dimension():
    for shape in ((), (0,), (3,), (2, 3), (2, 0, 3)):
        x = shunt.ones(shape, dtype=shunt.int32)
        for flags in (0, 1):  # PyBUF_SIMPLE, PyBUF_WRITABLE
            view = x.__buffer__(flags)
            assert view.ndim == 1 and bytes(view) == b"\1\0\0\0" * x.numel()
