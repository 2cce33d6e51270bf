// NllLoss: what nll_loss_forward and nll_loss_backward compute of all samples together, for whoever has their memory at
// hand and runs them without the operators. Pure functions of their arguments on the caller's memory; any thread.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/tensor/scalar_type.h>

#include <cstddef>
#include <cstdint>

namespace shunt::elementwise {

struct NllLoss {
  ScalarType dtype = ScalarType::Undefined;                        // of all but the targets, which are int64
  bool mean = false;                                               // else the sum
  int64_t samples = 0, classes = 0;                                // there are some of both
  int64_t sample_stride = 0, class_stride = 0, target_stride = 0;  // in elements
  int64_t ignore_index = 0;

  SHUNT_API static bool takes(ScalarType dtype);
  /// False where a target is no class: nothing was written then. Writes one element each.
  SHUNT_API bool forward(const std::byte* input, const std::byte* target, std::byte* loss,
                         std::byte* total_weight) const;
  /// The same; writes samples x classes elements, row-major. `grad` is one element.
  SHUNT_API bool backward(const std::byte* grad, const std::byte* target, const std::byte* total_weight,
                          std::byte* out) const;
};

}  // namespace shunt::elementwise
