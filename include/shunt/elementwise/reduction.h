// Reduction: sum and mean along some dimensions, on raw memory, for callers that bypass the operators.
//
// A Reduction is made once for a layout and is constant then. Any thread may call run(), on memory of the caller's. It
// shares large reductions among threads, as the operators do.
#pragma once

#include <shunt/core/array_ref.h>
#include <shunt/core/macros.h>
#include <shunt/tensor/scalar_type.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace shunt::elementwise {

/// The operator that a Reduction computes.
enum class ReductionOperator : uint8_t { kSum, kMean };

class SHUNT_API Reduction {
 public:
  virtual ~Reduction() = default;
  /// Gives the operators' bits. `out` is contiguous and shares no memory with `in`.
  virtual void run(const std::byte* in, std::byte* out) const = 0;
};

/// For elements of Float or Double with these strides (in elements); the result has their dtype. The operators define
/// the meaning of `dims`. Null for other dtypes, without dimensions or elements, and for layouts that only the
/// operators take.
SHUNT_API std::unique_ptr<const Reduction> reduction(ReductionOperator op, ScalarType dtype, IntArrayRef sizes,
                                                     IntArrayRef strides, OptionalIntArrayRef dims);

}  // namespace shunt::elementwise
