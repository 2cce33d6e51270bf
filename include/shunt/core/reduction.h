// How losses join their elements, the argument `reduction`: shunt::mse_loss(x, y, shunt::Reduction::Sum). As
// at::Reduction in PyTorch, with its numbers.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>

namespace shunt::Reduction {

/// The losses of the elements, their mean, or their sum. An argument of operators takes the number.
enum Reduction : int64_t { None = 0, Mean = 1, Sum = 2 };

}  // namespace shunt::Reduction
