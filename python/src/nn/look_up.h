// How attributes of modules are found: parameters, buffers and modules stand in tables, not in the object's dictionary.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

/// Functions of shunt._C.
extern PyMethodDef module_look_up_functions[];

}  // namespace shunt::python
