// Forward declaration of Tensor, and list types of tensors. For headers that tensor.h includes.
#pragma once

#include <shunt/core/array_ref.h>

#include <optional>

namespace shunt {

class Tensor;
struct Node;
/// Borrowed sequences of tensors.
using TensorList = ArrayRef<Tensor>;
using TensorOptList = ArrayRef<std::optional<Tensor>>;

}  // namespace shunt
