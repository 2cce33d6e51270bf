// Where an extreme value stands, in a block and down columns. Included by sources compiled once per instruction set,
// and by those of generic loops; everything has internal linkage.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>

namespace shunt::reduce {
namespace {

template <class A>
SHUNT_ALWAYS_INLINE bool matches(A x, A value, bool nan) {
  return nan ? x != x : x == value;
}

/// Where `value`, which is among n consecutive elements, stands first; any NaN is one.
template <class A>
SHUNT_ALWAYS_INLINE int64_t firstOf(const A* x, int64_t n, A value) {
  constexpr int64_t kGroup = 64;
  const bool nan = value != value;
  int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    bool found = false;
    if (nan) {
      for (int64_t k = 0; k < kGroup; ++k) found |= x[i + k] != x[i + k];
    } else {
      for (int64_t k = 0; k < kGroup; ++k) found |= x[i + k] == value;
    }
    if (found) break;
  }
  while (i < n && !matches(x[i], value, nan)) ++i;
  return i;
}

/// Where row[j] beats best[j], NaN beating every number: best[j] = row[j], index[j] = r.
template <bool Max, class A>
SHUNT_ALWAYS_INLINE void argRow(A* __restrict best, int64_t* __restrict index, const A* __restrict row, int64_t r,
                                int64_t cols) {
  for (int64_t j = 0; j < cols; ++j) {
    const A x = row[j], b = best[j];
    const bool beats = Max ? x > b : x < b;
    const bool take = beats | ((x != x) & (b == b));
    best[j] = take ? x : b;
    index[j] = take ? r : index[j];
  }
}

}  // namespace
}  // namespace shunt::reduce
