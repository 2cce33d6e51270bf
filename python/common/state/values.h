// Values of Python that a graph was recorded with: compared by type and bits where they are values, by identity where
// they are objects. The functions mean what those of the same names in guard.py mean, and run no code of the user's.
//
// For threads that hold the interpreter's lock.
#pragma once

#include "python/src/base/python.h"

#include <vector>

namespace shunt::python {

/// Types of the tensor library whose objects count by value, dtypes, devices, layouts, sizes, and the class enum.Enum.
/// Before the first use of what is below; borrowed, and to be kept alive.
void setValueTypes(std::vector<PyTypeObject*> types, PyTypeObject* enumeration);

/// Whether an object counts by value: numbers, strings, constants of the tensor library, enums, and tuples and slices
/// of these alone.
bool isValue(PyObject* o);

/// Whether two objects are the same value: the same object, or of one type that counts by value and equal. -0.0 isn't
/// 0.0, 1 isn't True, a NaN is itself. Tuples and slices are compared by their elements.
bool isSameValue(PyObject* a, PyObject* b);

/// Whether hashing it, and comparing it with its like, run no code of the user's.
bool hasPlainHash(PyObject* o);

/// Whether attributes of an object were set, which code may read.
bool hasAttributes(PyObject* o);

}  // namespace shunt::python
