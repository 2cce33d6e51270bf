// LayerNorm: what native_layer_norm and its gradient compute, for whoever has the memory at hand and runs them without
// the operators. Pure functions of their arguments on the caller's memory; any thread.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/tensor/scalar_type.h>

#include <cstddef>
#include <cstdint>

namespace shunt::elementwise {

struct LayerNorm {
  ScalarType dtype = ScalarType::Undefined;  // of all operands
  int64_t rows = 0, n = 0;                   // of n elements each, one row after the other
  double eps = 0;

  /// Floats or doubles, few enough for one thread. The functions are for these only, and give the operators' bits.
  SHUNT_API bool isTaken() const;
  /// A weight or bias that isn't there is null. `mean` and `rstd`: an element for each row.
  SHUNT_API void forward(const std::byte* in, const std::byte* weight, const std::byte* bias, std::byte* out,
                         std::byte* mean, std::byte* rstd) const;
  /// Gradients that aren't wanted are null. `eps` isn't read.
  SHUNT_API void backward(const std::byte* grad, const std::byte* in, const std::byte* mean, const std::byte* rstd,
                          const std::byte* weight, std::byte* in_grad, std::byte* weight_grad,
                          std::byte* bias_grad) const;
};

}  // namespace shunt::elementwise
