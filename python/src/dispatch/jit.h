// The just-in-time compiler's switch, statistics and explanations, as functions of shunt._C.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

void addJit(PyObject* module);

}  // namespace shunt::python
