// NllLoss: nll_loss_forward and nll_loss_backward, reduced over all samples, on raw memory, for callers that bypass the
// operators. Pure functions of their arguments on the caller's memory; any thread.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/tensor/scalar_type.h>

#include <cstddef>
#include <cstdint>

namespace shunt::elementwise {

struct NllLoss {
  /// The fields are set before any call.
  ScalarType dtype = ScalarType::Undefined;                        // of all but the targets, which are int64
  bool mean = false;                                               // else the sum
  int64_t samples = 0, classes = 0;                                // both positive
  int64_t sample_stride = 0, class_stride = 0, target_stride = 0;  // in elements
  int64_t ignore_index = 0;                                        // samples with this target don't count

  /// Whether the functions may be called for the dtype: Float or Double.
  SHUNT_API static bool takes(ScalarType dtype);
  /// Writes one element each to `loss` and `total_weight`. Returns false, and writes nothing, if a target is neither a
  /// class nor ignore_index.
  SHUNT_API bool forward(const std::byte* input, const std::byte* target, std::byte* loss,
                         std::byte* total_weight) const;
  /// Writes samples x classes elements, row-major, to `out`. Returns false as forward does. `grad` is one element.
  SHUNT_API bool backward(const std::byte* grad, const std::byte* target, const std::byte* total_weight,
                          std::byte* out) const;
};

}  // namespace shunt::elementwise
