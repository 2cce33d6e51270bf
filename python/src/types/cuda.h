// What programs ask of CUDA before they use it, as functions of shunt._C.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

extern PyMethodDef cuda_functions[];

}  // namespace shunt::python
