// Fake tensors, functionalize and autocast: see transforms.cpp.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

void addTransforms(PyObject* module);

}  // namespace shunt::python
