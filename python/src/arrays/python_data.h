// Tensors from what Python writes as data: numbers, nested lists, NumPy's numbers, other sequences.
#pragma once

#include "python/src/base/python.h"

#include <shunt/tensor/tensor.h>

#include <optional>

namespace shunt::python {

/// A new CPU tensor with the values of `data`, which is no tensor or array itself. Without `dtype`, that of the
/// elements: bool, int64, the default dtype for floats, and what NumPy's numbers and tensors of one element have, by
/// promotion. Throws PythonError: ValueError for ragged lists and numbers beyond 64 bits, TypeError for elements that
/// are no numbers, RuntimeError for numbers beyond the dtype.
Tensor tensorOfData(PyObject* data, std::optional<ScalarType> dtype);

}  // namespace shunt::python
