// The settings of recording as context managers: the base of no_grad and its like.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

/// Adds _GradModeBase to the module.
void addGradModes(PyObject* module);

}  // namespace shunt::python
