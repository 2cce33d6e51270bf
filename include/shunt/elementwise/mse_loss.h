// MseLoss: mse_loss, reduced to one element, on raw memory, for callers that bypass the operator. Made once for a dtype
// and a number of elements, and constant then. The memory is the caller's; any thread.
#pragma once

#include <shunt/elementwise/reduction.h>

namespace shunt::elementwise {

class SHUNT_API MseLoss {
 public:
  virtual ~MseLoss() = default;
  /// Writes the mean or the sum, one element, with the operator's bits. The elements of each input are consecutive.
  virtual void run(const std::byte* self, const std::byte* target, std::byte* out) const = 0;
};

/// For Float and Double. Null for other dtypes, for no elements, and for so many (8 KiB) that the call of the operator
/// costs little in comparison.
SHUNT_API std::unique_ptr<const MseLoss> mseLoss(ScalarType dtype, int64_t elements, ReductionOperator reduction);

}  // namespace shunt::elementwise
