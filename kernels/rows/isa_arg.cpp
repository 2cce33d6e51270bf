// Loops that find where an extreme value stands.
#include "kernels/rows/first_of.h"
#include "kernels/rows/loop_table.h"

#include <shunt/core/macros.h>

namespace shunt::reduce {
namespace {

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
constexpr ArgLoops<A> kLoops = {firstOf<A>, {argRow<A, true>, argRow<A, false>}};

}  // namespace

namespace SHUNT_ISA_NAMESPACE {
constinit const PerAccumulator<ArgLoops> kArgLoops = {kLoops<float>, kLoops<double>, kLoops<int64_t>, kLoops<uint8_t>};
}  // namespace SHUNT_ISA_NAMESPACE

}  // namespace shunt::reduce
