// Operators and kernels of programs written in Python: what shunt.library is made of.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

void addLibrary(PyObject* module);

}  // namespace shunt::python
