// The engine and the settings of recording, as functions of shunt._C.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

extern PyMethodDef autograd_functions[];

}  // namespace shunt::python
