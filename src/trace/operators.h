// What the library "trace" does to ordinary tensors: for its kernels, and for those who know that these would be
// called.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt::trace_detail {

void setGrad(const Tensor& self, Tensor grad);
/// As the engine does it at a leaf: a gradient that nobody else holds is kept as it is. `held`: somebody does, whom the
/// graph doesn't show (a variable of the traced function). Throws Error where shapes or dtypes differ.
void accumulateGrad(const Tensor& self, Tensor grad, bool held);

}  // namespace shunt::trace_detail
