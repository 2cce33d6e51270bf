// Reductions without indices: sum, product, maximum, minimum, any, all, mean over any set of dimensions.
//
// See Note [Order of reductions] in loop_table.h. Any thread; large reductions share threads by parallelFor.
#pragma once

#include "kernels/rows/loop_table.h"
#include "kernels/rows/plan.h"

namespace shunt::reduce {

enum class Accumulator : uint8_t { kFloat, kDouble, kLong, kBool };

/// What elements of `t` are accumulated in.
constexpr Accumulator accumulatorOf(ScalarType t) {
  if (t == kDouble) return Accumulator::kDouble;
  if (isFloatingType(t)) return Accumulator::kFloat;
  return t == kBool ? Accumulator::kBool : Accumulator::kLong;
}

struct Reduction {
  ReduceOp op;
  Accumulator accumulator;
  ScalarType out_dtype;
  /// Divides each result by the number of elements it is made of, before it is rounded to the output's type.
  bool mean = false;
};

/// A new contiguous tensor, on Meta without elements to reduce. The caller has checked dtypes, and that maxima have
/// elements.
Tensor reduce(const Tensor& self, const DimSet& dims, bool keepdim, const Reduction& reduction);

/// The reduction of n consecutive elements in the order of the Note, in the calling thread.
template <class A>
A reduceContiguous(ReduceOp op, const A* x, int64_t n);
extern template float reduceContiguous<float>(ReduceOp, const float*, int64_t);
extern template double reduceContiguous<double>(ReduceOp, const double*, int64_t);

}  // namespace shunt::reduce
