// Reduction: values of a loss's argument `reduction`, as in shunt::mse_loss(x, y, shunt::Reduction::Sum). The numbers
// are those of PyTorch's at::Reduction.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>

namespace shunt::Reduction {

/// The result is each element's loss, their mean, or their sum. Operators take it as int64_t.
enum Reduction : int64_t { None = 0, Mean = 1, Sum = 2 };

}  // namespace shunt::Reduction
