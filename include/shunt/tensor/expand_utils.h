// Broadcasting of shapes, and the sum that reverses it. Follows PyTorch's rules and messages.
//
// Shapes belong to the caller. sum_to calls operators; the other functions are pure. Any thread.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt {

/// The shape that `a` and `b` broadcast to. When they do not, throws an error that names both sizes and the dimension.
SHUNT_API std::vector<int64_t> infer_size(IntArrayRef a, IntArrayRef b);

/// Whether a tensor of shape `from` can be expanded to shape `to`.
SHUNT_API bool is_expandable_to(IntArrayRef from, IntArrayRef to);

/// Sums `tensor` over the dimensions along which `shape` was expanded to its shape. The result has shape `shape`; it is
/// `tensor` itself when the shapes are equal. Throws when `shape` is not expandable to the tensor's shape.
SHUNT_API Tensor sum_to(Tensor tensor, IntArrayRef shape);

}  // namespace shunt
