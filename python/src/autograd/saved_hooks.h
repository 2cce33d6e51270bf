// Settings of recording that aren't grad mode: saved-tensor hooks and anomaly mode, as functions of shunt._C.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

extern PyMethodDef recording_functions[];

}  // namespace shunt::python
