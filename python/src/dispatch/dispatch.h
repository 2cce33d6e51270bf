// What the module gets from this folder.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

/// Adds the types and functions of operators, libraries, modes, subclasses, transforms and the compiler.
void addDispatch(PyObject* module);

}  // namespace shunt::python
