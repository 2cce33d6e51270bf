// What Python writes between x[ and ] as the indices of C++.
#pragma once

#include "python/src/base/python.h"

#include <shunt/core/inline_vector.h>
#include <shunt/tensor/tensor_index.h>

namespace shunt::python {

/// A tuple's elements, or the key itself. A list with sequences, slices, None or Ellipsis in it counts as a tuple, as
/// it did in NumPy once, with a warning.
std::vector<indexing::TensorIndex> indicesOf(PyObject* key);

/// A position. Throws ValueError beyond 64 bits.
int64_t positionOf(PyObject* o);
/// Throws ValueError for steps that aren't positive, TypeError for bounds that are no integers.
indexing::Slice sliceOf(PyObject* slice);

}  // namespace shunt::python
