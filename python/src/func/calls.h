// shunt._C._VmapCall and shunt._C._GradCall: the levels of vmap and grad as objects, for shunt.func, which knows of
// containers and functions of Python. enter() and leave() come in pairs, innermost first, on one thread.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

void addFunctionTransforms(PyObject* module);

}  // namespace shunt::python
