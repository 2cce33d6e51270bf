// LayerNorm: native_layer_norm and its gradient on raw memory, for callers that bypass the operators. Pure functions of
// their arguments on the caller's memory; any thread.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/tensor/scalar_type.h>

#include <cstddef>
#include <cstdint>

namespace shunt::elementwise {

struct LayerNorm {
  /// The fields are set before any call.
  ScalarType dtype = ScalarType::Undefined;  // of all operands
  int64_t rows = 0, n = 0;                   // n: elements in each row; rows are consecutive
  double eps = 0;                            // added to the variance; backward doesn't read it

  /// Whether forward and backward may be called: Float or Double, few enough elements for one thread. They give the
  /// operators' bits.
  SHUNT_API bool isTaken() const;
  /// An absent weight or bias is null. `mean` and `rstd` get one element for each row.
  SHUNT_API void forward(const std::byte* in, const std::byte* weight, const std::byte* bias, std::byte* out,
                         std::byte* mean, std::byte* rstd) const;
  /// A gradient that isn't wanted is null, and so is an absent weight.
  SHUNT_API void backward(const std::byte* grad, const std::byte* in, const std::byte* mean, const std::byte* rstd,
                          const std::byte* weight, std::byte* in_grad, std::byte* weight_grad,
                          std::byte* bias_grad) const;
};

}  // namespace shunt::elementwise
