// Values of Python that a captured function was recorded with: compared by type and bits where they are values, by
// identity where they are objects.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace shunt_torch {

/// Whether two objects are the same value: the same object, or of one type and equal. -0.0 isn't 0.0, 1 isn't True, a
/// NaN is itself. Tuples are compared by their elements. Only for types whose comparison runs no code of the user's.
bool isSameValue(PyObject* a, PyObject* b);

/// What a call gives that can't be answered by a recording.
PyObject* missed();

}  // namespace shunt_torch
