// Tensors over memory of Python's objects, by the buffer protocol. The tensor holds the buffer until its last user is
// gone, on any thread; the object can't release or resize its memory meanwhile.
#pragma once

#include "python/src/base/python.h"

#include <shunt/tensor/tensor.h>

namespace shunt::python {

/// A tensor over the memory of a numpy.ndarray. TypeError for other objects and dtypes, ValueError for negative
/// strides, strides that are no multiple of an element, and bytes in another order. With `warn`, a warning where the
/// array is read-only.
Tensor tensorOverArray(PyObject* array, bool warn = true);

/// A 1-D tensor over the bytes of an object with the buffer protocol: `count` elements (-1: all) from `offset`, in
/// bytes. ValueError for ranges that don't fit. Warns where the buffer is read-only.
Tensor tensorOverBuffer(PyObject* object, ScalarType dtype, int64_t count, int64_t offset);

}  // namespace shunt::python
