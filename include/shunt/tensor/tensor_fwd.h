// Tensor, declared only, and the list types made of it: for headers that tensor.h includes.
#pragma once

#include <shunt/core/array_ref.h>

#include <optional>

namespace shunt {

class Tensor;
struct Node;
/// A sequence of tensors that somebody else owns.
using TensorList = ArrayRef<Tensor>;
using TensorOptList = ArrayRef<std::optional<Tensor>>;

}  // namespace shunt
