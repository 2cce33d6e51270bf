// Settings of the process that functions of the package read and change, and questions about dtypes.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

extern PyMethodDef setting_functions[];

}  // namespace shunt::python
