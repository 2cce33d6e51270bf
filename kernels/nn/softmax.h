// The entries of softmax, log_softmax and their gradients, and what a thunk puts in their place
// (kernels/rows/expected.h). Tensors are the caller's, checked, `out` contiguous and of the result's dtype. Any thread.
#pragma once

#include "kernels/rows/expected.h"

namespace shunt::nn {

SHUNT_NOINLINE void softmax(const Tensor& self, int64_t dim, const Tensor& out, bool log);
SHUNT_NOINLINE void softmaxBackward(const Tensor& grad, const Tensor& output, int64_t dim, const Tensor& out, bool log);

/// The same, with the expected loop along rows where the operands are the expected ones.
void softmaxExpected(const Tensor& self, int64_t dim, const Tensor& out, bool log);
void softmaxBackwardExpected(const Tensor& grad, const Tensor& output, int64_t dim, const Tensor& out, bool log);

/// The generic loops of rows; null where there is none for the dtype.
rows::LoopFn genericSoftmax(ScalarType dtype, bool log);
rows::LoopFn genericSoftmaxBackward(ScalarType dtype, bool log);

}  // namespace shunt::nn
