// Broadcasting of shapes, and its reverse: the sum that undoes an expansion. PyTorch's rules and messages.
//
// Shapes belong to the caller. sum_to calls operators; the others are pure functions. Any thread.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt {

/// The shape that `a` and `b` broadcast to; throws naming both sizes and the dimension when they don't.
SHUNT_API std::vector<int64_t> infer_size(IntArrayRef a, IntArrayRef b);

/// Whether a tensor of shape `from` can be expanded to shape `to`.
SHUNT_API bool is_expandable_to(IntArrayRef from, IntArrayRef to);

/// Sums `tensor` over the dimensions along which `shape` was expanded, so that the result has that shape; `tensor`
/// itself when it has it already. `shape` must be expandable to the tensor's shape.
SHUNT_API Tensor sum_to(Tensor tensor, IntArrayRef shape);

}  // namespace shunt
