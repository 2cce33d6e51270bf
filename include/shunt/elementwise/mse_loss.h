// MseLoss: what mse_loss computes of all elements together, for whoever has their memory at hand and runs it without
// the operator. Made once for tensors of a size, and constant then; any thread.
#pragma once

#include <shunt/elementwise/reduction.h>

namespace shunt::elementwise {

class SHUNT_API MseLoss {
 public:
  virtual ~MseLoss() = default;
  /// The mean or the sum, one element, to the operator's bits. `self` and `target`: the elements, one after the other.
  virtual void run(const std::byte* self, const std::byte* target, std::byte* out) const = 0;
};

/// Of Float or Double. Null for other dtypes, and for so many elements that the operator's call is nothing beside them.
SHUNT_API std::unique_ptr<const MseLoss> mseLoss(ScalarType dtype, int64_t elements, ReductionOperator reduction);

}  // namespace shunt::elementwise
