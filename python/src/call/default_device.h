// The device of new tensors whose device isn't named: set_default_device(), and `with shunt.device(...)`. Each thread
// has its own.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

/// The device object, borrowed; null where none was set.
PyObject* defaultDevice();

/// Sets a device for a block, until exitDevice().
void enterDevice(PyObject* device);
void exitDevice();

extern PyMethodDef default_device_functions[];

}  // namespace shunt::python
