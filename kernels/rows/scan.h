// Running sums and products: the steps that the interpreter's loops and those of thunks share. Everything has internal
// linkage. Pure functions on the caller's memory.
#pragma once

#include "kernels/rows/block.h"
#include "kernels/rows/cascade.h"

namespace shunt::reduce {
namespace {

/// Accumulators that there are scans of.
template <class Acc>
constexpr bool kScans = std::is_same_v<Acc, accumulators::Sum> || std::is_same_v<Acc, accumulators::Product>;

/// Elements that are converted at once.
constexpr int64_t kScanBlock = 256;

/// x[i] = running value after x[i]; returns the last.
template <class Acc, class A>
SHUNT_ALWAYS_INLINE A scanBlock(A* x, int64_t n, A running) {
  for (int64_t i = 0; i < n; ++i) {
    JoinOf<Acc>::apply(running, x[i]);
    x[i] = running;
  }
  return running;
}

/// One step down columns.
template <class Acc, class A>
SHUNT_ALWAYS_INLINE void stepColumns(A* __restrict running, const A* __restrict row, int64_t columns) {
  for (int64_t j = 0; j < columns; ++j) JoinOf<Acc>::apply(running[j], row[j]);
}

}  // namespace
}  // namespace shunt::reduce
