// Values of Python that a captured function was recorded with: compared by type and bits where they are values, by
// identity where they are objects.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace shunt_torch {

// All of these mean what the functions of shunt_torch/guard.py mean, and run no code of the user's.

/// Whether an object counts by value: numbers, strings, PyTorch's constants, enums, tuples and slices of these alone.
bool isValue(PyObject* o);

/// Whether two objects are the same value: the same object, or of one type that counts by value and equal. -0.0 isn't
/// 0.0, 1 isn't True, a NaN is itself. Tuples and slices are compared by their elements.
bool isSameValue(PyObject* a, PyObject* b);

/// Whether hashing it, and comparing it with its like, run no code of the user's.
bool hasPlainHash(PyObject* o);

/// Whether attributes of an object were set, which code may read.
bool hasAttributes(PyObject* o);

/// What a call gives that can't be answered by a recording.
PyObject* missed();

}  // namespace shunt_torch
