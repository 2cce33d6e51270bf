// Files of tensors, as functions of shunt._C: safetensors and .npz.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

extern PyMethodDef file_functions[];

}  // namespace shunt::python
