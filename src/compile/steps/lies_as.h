// Whether a tensor lies in memory as a graph has it. Pure; any thread.
#pragma once

#include "src/compile/guards/keys_that_matter.h"

#include <shunt/trace/graph.h>

namespace shunt::compiled {

/// Whether both have the same dtype, sizes and strides.
inline bool shows(const TensorImpl& t, const Graph::Spec& spec) {
  const IntArrayRef sizes = t.sizes(), strides = t.strides();
  const size_t dim = spec.sizes.size();
  if (t.dtype() != spec.dtype || sizes.size() != dim) return false;
  for (size_t d = 0; d < dim; ++d)
    if (sizes[d] != spec.sizes[d] || strides[d] != spec.strides[d]) return false;
  return true;
}

/// Whether it is a plain tensor on the CPU, too.
inline bool liesAs(const Tensor& t, const Graph::Spec& spec) {
  return t.defined() && shows(*t.unsafeGetTensorImpl(), spec) && hasPlainKeys(t);
}

}  // namespace shunt::compiled
