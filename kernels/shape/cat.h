// What cat does for stack.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt::native {

/// Checks what cat_out checks; `out` of other sizes gets those of the result, contiguous, whatever layout the tensors
/// have.
void resizeForStack(TensorList tensors, int64_t dim, const Tensor& out);

}  // namespace shunt::native
