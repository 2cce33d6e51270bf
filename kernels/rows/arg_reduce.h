// Reductions that tell where: the extreme value along the reduced axes and the index of its first occurrence.
//
// The index counts in the tensor's own order of dimensions; NaN beats every number. Any thread.
#pragma once

#include "kernels/rows/plan.h"

namespace shunt::reduce {

struct ArgResult {
  Tensor values;  // undefined unless wanted
  Tensor indices;
};

/// New contiguous tensors of the given sizes, on Meta nothing more. The caller has checked that there are elements to
/// choose from.
ArgResult argReduce(const Tensor& self, const DimSet& dims, IntArrayRef out_sizes, bool maximum, bool want_values);

}  // namespace shunt::reduce
