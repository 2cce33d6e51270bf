// Reductions of a dense tensor along dimensions that follow one another, as a thunk runs them
// (kernels/rows/expected.h): rows or columns, as the recorded call had them, since a loop for both takes twice the time
// to compile. Any thread.
#pragma once

#include "kernels/rows/arg_reduce.h"
#include "kernels/rows/expected.h"
#include "kernels/rows/reduce.h"

namespace shunt::reduce {

/// reduce(), with the expected loop where its operand is the expected one.
Tensor reduceExpected(const Tensor& self, const DimSet& dims, bool keepdim, const Reduction& reduction);

/// argReduce(), with the expected loop where its operand is the expected one.
ArgResult argReduceExpected(const Tensor& self, const DimSet& dims, IntArrayRef out_sizes, bool maximum,
                            bool want_values);

/// Where they send other operands: reduce() and argReduce(), which may record them.
SHUNT_NOINLINE Tensor reduceMissed(const Tensor& self, const DimSet& dims, bool keepdim, const Reduction& reduction,
                                   jit::MissCount* misses);
SHUNT_NOINLINE ArgResult argReduceMissed(const Tensor& self, const DimSet& dims, IntArrayRef out_sizes, bool maximum,
                                         bool want_values, jit::MissCount* misses);

/// What a reduction's elements lie in: rows, columns of which there are kFewestColumns or more, or something that no
/// expected loop takes (non-adjacent dimensions, a few columns).
enum class Span : uint8_t { kNone, kRows, kColumns };
Span spanOf(const TensorImpl& t, const DimSet& dims);
/// As many as the loop takes at once.
inline constexpr int64_t kFewestColumns = 8;

/// A column's elements that the loops take: the interpreter has one chunk of so few rows, however wide they are.
inline constexpr int64_t kLongestColumn = 2 * kRowBlock;

/// The generic loop; null where there is none.
rows::LoopFn genericRows(const Reduction& reduction, Span span);
/// The one that tells where: indices to output 0, values to output 1 unless that is null.
rows::LoopFn genericArgRows(Accumulator accumulator, bool maximum, Span span);

/// The same for equal reductions in any process.
SHUNT_ALWAYS_INLINE constexpr uint64_t idOf(const Reduction& r, Span span) {
  return uint64_t{static_cast<uint8_t>(r.op)} | uint64_t{static_cast<uint8_t>(r.accumulator)} << 8 |
         uint64_t{static_cast<uint8_t>(r.out_dtype)} << 16 | uint64_t{r.mean} << 24 |
         uint64_t{static_cast<uint8_t>(span)} << 32;
}
SHUNT_ALWAYS_INLINE constexpr Reduction reductionOf(uint64_t id) {
  return {static_cast<ReduceOp>(id & 0xff), static_cast<Accumulator>(id >> 8 & 0xff),
          static_cast<ScalarType>(id >> 16 & 0xff), (id >> 24 & 0xff) != 0};
}

SHUNT_ALWAYS_INLINE constexpr uint64_t idOf(bool maximum, bool want_values, Span span) {
  return uint64_t{1} | uint64_t{maximum} << 1 | uint64_t{want_values} << 2 | uint64_t{static_cast<uint8_t>(span)} << 32;
}
/// Of either.
SHUNT_ALWAYS_INLINE constexpr Span spanOf(uint64_t id) { return static_cast<Span>(id >> 32); }
SHUNT_ALWAYS_INLINE constexpr bool wantsValues(uint64_t id) { return (id & 4) != 0; }

}  // namespace shunt::reduce
