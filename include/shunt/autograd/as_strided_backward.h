// The gradient of as_strided: for the formula of that operator, and for the history that a view gets again after its
// base changed. A pure function of tensors; differentiable itself. Any thread.
#pragma once

#include <shunt/tensor/tensor.h>

#include <vector>

namespace shunt::autograd {

/// Sizes, strides and offset (in elements of the storage) of a tensor.
struct TensorGeometry {
  TensorGeometry() = default;
  explicit TensorGeometry(const Tensor& t)
      : sizes(t.sizes().vec()), strides(t.strides().vec()), storage_offset(t.storage_offset()) {}
  std::vector<int64_t> sizes, strides;
  int64_t storage_offset = 0;
};

/// The gradient of a tensor of geometry `input`, when `grad` is that of a view of geometry `view` on the same storage.
/// Elements that several positions of the view show get the sum; several positions of the input on one element share it
/// evenly.
SHUNT_API Tensor as_strided_backward(Tensor grad, TensorGeometry input, TensorGeometry view);

}  // namespace shunt::autograd
