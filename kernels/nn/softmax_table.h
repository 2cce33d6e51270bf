// The loops of softmax and log_softmax and their gradients, a table for every instruction set.
//
// Rows of n consecutive elements, row after row. Sums have the order of kernels/rows/loop_table.h. Pure functions of
// their arguments; input and output may be the same memory, element for element. Any thread.
#pragma once

#include <shunt/core/isa.h>

#include <cstdint>

namespace shunt::nn {

/// Elements of a group of short rows, which are computed together.
inline constexpr int64_t kGroup = 1024;
/// From so many neighbouring columns on it pays to go down all of them at once, in groups of at most kColumns.
inline constexpr int64_t kMinColumns = 8;
inline constexpr int64_t kColumns = 64;
inline constexpr int64_t kColumnBlock = 256;

template <class A>
struct SoftmaxLoops {
  /// [0]: exp(x - max) / sum(exp(x - max)); [1]: its logarithm.
  void (*forward[2])(A* out, const A* in, int64_t rows, int64_t n);
  /// From the gradient and the forward's result y. [0]: (grad - sum(grad * y)) * y; [1]: grad - exp(y) * sum(grad).
  void (*backward[2])(A* out, const A* grad, const A* y, int64_t rows, int64_t n);
  /// The same down `columns` <= kColumns neighbouring columns of n elements; a column's elements are `stride` apart. A
  /// column's sum is that of its blocks of kColumnBlock elements, each added up in order.
  void (*forwardColumns[2])(A* out, const A* in, int64_t n, int64_t stride, int64_t columns);
  void (*backwardColumns[2])(A* out, const A* grad, const A* y, int64_t n, int64_t stride, int64_t columns);
};

struct SoftmaxTable {
  SoftmaxLoops<float> f;
  SoftmaxLoops<double> d;
};

namespace baseline {
extern const SoftmaxTable kSoftmaxTable;
}
namespace v3 {
extern const SoftmaxTable kSoftmaxTable;
}
namespace v4 {
extern const SoftmaxTable kSoftmaxTable;
}

template <class A>
const SoftmaxLoops<A>& softmaxLoops() {
#define SHUNT_TABLE(isa) &isa::kSoftmaxTable
  static constexpr const SoftmaxTable* kTables[kNumIsas] = SHUNT_PER_ISA(SHUNT_TABLE);
#undef SHUNT_TABLE
  const SoftmaxTable& table = *kTables[static_cast<int>(detail::activeIsa())];
  if constexpr (sizeof(A) == sizeof(float))
    return table.f;
  else
    return table.d;
}

}  // namespace shunt::nn
