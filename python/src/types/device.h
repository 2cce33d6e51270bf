// shunt.device: a device's type and index.
#pragma once

#include "python/src/base/python.h"

#include <shunt/tensor/device.h>

namespace shunt::python {

void addDevice(PyObject* module);
bool isDevice(PyObject* o);
Device deviceOf(PyObject* o);
/// A new reference.
PyObject* wrapDevice(Device device);

}  // namespace shunt::python
