// Lists, ranges and NumPy's arrays as index tensors: bool where all elements are, else int64.
#pragma once

#include "python/src/base/python.h"

#include <shunt/tensor/tensor.h>

namespace shunt::python {

/// The index that a sequence stands for. Throws TypeError for elements that aren't numbers, ValueError for nested
/// sequences of different lengths.
Tensor indexFromSequence(PyObject* sequence);

}  // namespace shunt::python
