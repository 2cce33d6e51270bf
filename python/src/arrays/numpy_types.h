// NumPy's arrays and scalars, recognised without importing NumPy or compiling against it.
#pragma once

#include "python/src/base/python.h"

#include <shunt/tensor/scalar_type.h>

namespace shunt::python {

/// Whether the object is a numpy.ndarray, of a derived class too. False where the program has not imported NumPy.
bool isNumpyArray(PyObject* o);
/// Whether the object is one of NumPy's numbers, numpy.float32(1.5).
bool isNumpyScalar(PyObject* o);
/// The dtype of an array or a number of NumPy's. TypeError for types that tensors don't have, ValueError for numbers
/// whose bytes are in the other order.
ScalarType numpyScalarType(PyObject* o);

}  // namespace shunt::python
