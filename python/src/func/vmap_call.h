// shunt._C._VmapCall: see calls.h.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

void addVmapCall(PyObject* module);
void addGradCall(PyObject* module);

/// Makes a type from its spec and adds it to the module under its last name.
void addHeapType(PyObject* module, PyType_Spec& spec);

}  // namespace shunt::python
