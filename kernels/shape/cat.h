// What cat does for stack.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt::native {

/// For `out` of other sizes than the result's: checks what cat_out checks, then gives it these, contiguous, whatever
/// layout the tensors have.
void resizeForStack(TensorList tensors, int64_t dim, const Tensor& out);

}  // namespace shunt::native
