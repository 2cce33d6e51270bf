// What Python calls in each call of a captured or compiled function, without pybind11's look-ups.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace shunt_torch {

/// What the first of these recordings, a list of _C.Recording, gives for a call; missed() where no guards hold. Null
/// with a Python error set where a replay throws. `kwargs` may be null.
PyObject* callRecordings(PyObject* recordings, PyObject* args, PyObject* kwargs);

/// Adds `call` and `train` to the module.
void addCalls(py::module_& m);

}  // namespace shunt_torch
