// Reductions on memory: what sum and mean compute along some dimensions, for whoever has the elements at hand and
// reduces them without the operators.
//
// A Reduction is made once for tensors that lie in a certain way, and is constant then; run() may be called by any
// threads, on memory of the caller's. It shares large reductions among threads as the operators do.
#pragma once

#include <shunt/core/array_ref.h>
#include <shunt/core/macros.h>
#include <shunt/tensor/scalar_type.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace shunt::elementwise {

enum class ReductionOperator : uint8_t { kSum, kMean };

class SHUNT_API Reduction {
 public:
  virtual ~Reduction() = default;
  /// To the operators' bits, into contiguous memory that isn't the elements'.
  virtual void run(const std::byte* in, std::byte* out) const = 0;
};

/// Of elements of Float or Double that lie with these strides, into their dtype. `dims`: as the operators take them.
/// Null for other dtypes, and where there are no elements.
SHUNT_API std::unique_ptr<const Reduction> reduction(ReductionOperator op, ScalarType dtype, IntArrayRef sizes,
                                                     IntArrayRef strides, OptionalIntArrayRef dims);

}  // namespace shunt::elementwise
