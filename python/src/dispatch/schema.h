// Schemas for Python: see schema.cpp.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

void addSchema(PyObject* module);

}  // namespace shunt::python
