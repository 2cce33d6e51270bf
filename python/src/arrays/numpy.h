// Tensors as NumPy's arrays. NumPy is imported where a program asks for an array, and not before.
#pragma once

#include "python/src/base/python.h"

namespace shunt::python {

extern PyMethodDef tensor_numpy_methods[];  // numpy

}  // namespace shunt::python
