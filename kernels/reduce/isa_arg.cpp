// Loops that find where an extreme value stands.
#include "kernels/reduce/loop_table.h"

#include <shunt/core/macros.h>

namespace shunt::reduce {
namespace {

template <class A>
SHUNT_ALWAYS_INLINE bool matches(A x, A value, bool nan) {
  return nan ? x != x : x == value;
}

template <class A>
int64_t find(const A* x, int64_t n, A value) {
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

template <class A, bool Max>
void argRow(A* __restrict best, int64_t* __restrict index, const A* __restrict row, int64_t r, int64_t cols) {
  for (int64_t j = 0; j < cols; ++j) {
    const A x = row[j], b = best[j];
    const bool beats = Max ? x > b : x < b;
    const bool take = beats | ((x != x) & (b == b));
    best[j] = take ? x : b;
    index[j] = take ? r : index[j];
  }
}

template <class A>
constexpr ArgLoops<A> kLoops = {find<A>, {argRow<A, true>, argRow<A, false>}};

}  // namespace

namespace SHUNT_ISA_NAMESPACE {
constinit const PerAccumulator<ArgLoops> kArgLoops = {kLoops<float>, kLoops<double>, kLoops<int64_t>, kLoops<uint8_t>};
}  // namespace SHUNT_ISA_NAMESPACE

}  // namespace shunt::reduce
