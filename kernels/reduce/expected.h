// Reductions along the last dimensions of a dense tensor, as a thunk runs them (kernels/rows/expected.h). Any thread.
#pragma once

#include "kernels/reduce/reduce.h"
#include "kernels/rows/expected.h"

namespace shunt::reduce {

/// reduce(), with the expected loop where its operand is the expected one.
Tensor reduceExpected(const Tensor& self, const DimSet& dims, bool keepdim, const Reduction& reduction);

/// The generic loop of rows; null where there is none.
rows::LoopFn genericRows(const Reduction& reduction);

/// The same for equal reductions in any process.
SHUNT_ALWAYS_INLINE constexpr uint64_t idOf(const Reduction& r) {
  return uint64_t{static_cast<uint8_t>(r.op)} | uint64_t{static_cast<uint8_t>(r.accumulator)} << 8 |
         uint64_t{static_cast<uint8_t>(r.out_dtype)} << 16 | uint64_t{r.mean} << 24;
}
SHUNT_ALWAYS_INLINE constexpr Reduction reductionOf(uint64_t id) {
  return {static_cast<ReduceOp>(id & 0xff), static_cast<Accumulator>(id >> 8 & 0xff), static_cast<ScalarType>(id >> 16 & 0xff),
          (id >> 24) != 0};
}

}  // namespace shunt::reduce
