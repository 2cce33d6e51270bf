// The gradient of as_strided. The operator's formula uses it, and so does the new history that a view gets after its
// base changed. A pure function of tensors, itself differentiable. Any thread may call it.
#pragma once

#include <shunt/tensor/tensor.h>

#include <vector>

namespace shunt::autograd {

/// Sizes, strides and storage offset of a tensor; strides and offset count elements.
struct TensorGeometry {
  TensorGeometry() = default;
  explicit TensorGeometry(const Tensor& t)
      : sizes(t.sizes().vec()), strides(t.strides().vec()), storage_offset(t.storage_offset()) {}
  std::vector<int64_t> sizes, strides;
  int64_t storage_offset = 0;
};

/// The gradient of a tensor of geometry `input`. `grad` is the gradient of a view of geometry `view` on the same
/// storage.
/// - Several positions of the view that share an element add up.
/// - Several positions of the input that share an element divide its gradient evenly.
SHUNT_API Tensor as_strided_backward(Tensor grad, TensorGeometry input, TensorGeometry view);

}  // namespace shunt::autograd
