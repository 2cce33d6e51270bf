// shunt.Size: a tuple of ints, the sizes of a tensor.
#pragma once

#include "python/src/base/python.h"

#include <shunt/core/array_ref.h>

namespace shunt::python {

void addSize(PyObject* module);
/// A new Size.
PyObject* wrapSize(IntArrayRef sizes);
/// A new tuple of ints.
PyObject* wrapInts(IntArrayRef values);

}  // namespace shunt::python
