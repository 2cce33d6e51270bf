// The loops of the accumulators: along a block, and row by row across columns.
#include "kernels/rows/block.h"
#include "kernels/rows/cascade.h"

namespace shunt::reduce {
namespace {

template <class Op, class A, int W>
SHUNT_ALWAYS_INLINE void strip8(A* acc, const A* const* rows, int64_t j) {
  Vec<A, W> sum;
  loadVec(sum, acc + j);
  joinEightRows<Op, A, W>(sum, rows, j);
  storeVec(acc + j, sum);
}

template <class Op, class A, int W>
SHUNT_ALWAYS_INLINE void strip1(A* acc, const A* row, int64_t j) {
  Vec<A, W> sum, v;
  loadVec(sum, acc + j);
  loadVec(v, row + j);
  Op::apply(sum, v);
  storeVec(acc + j, sum);
}

/// Calls f<W>(j) for strips of 16 columns and for the rest in strips of 8, 4, 2 and 1.
template <class F>
SHUNT_ALWAYS_INLINE void forStrips(int64_t cols, const F& f) {
  int64_t j = 0;
  for (; j + 16 <= cols; j += 16) f.template operator()<16>(j);
  if ((cols & 8) != 0) {
    f.template operator()<8>(j);
    j += 8;
  }
  if ((cols & 4) != 0) {
    f.template operator()<4>(j);
    j += 4;
  }
  if ((cols & 2) != 0) {
    f.template operator()<2>(j);
    j += 2;
  }
  if ((cols & 1) != 0) f.template operator()<1>(j);
}

template <class Op, class A>
void rows8(A* acc, const A* const* rows, int64_t cols) {
  forStrips(cols, [=]<int W>(int64_t j) __attribute__((always_inline)) { strip8<Op, A, W>(acc, rows, j); });
}

template <class Op, class A>
void row1(A* acc, const A* row, int64_t cols) {
  forStrips(cols, [=]<int W>(int64_t j) __attribute__((always_inline)) { strip1<Op, A, W>(acc, row, j); });
}

template <class Acc, class A>
A block(const A* x, int64_t n, A pivot, A number) {
  return joinBlock<Acc, A>(x, n, pivot, number);
}

template <class Acc, class A>
void terms(A* dst, const A* x, const A* pivots, int64_t n, A number) {
  if constexpr (kIsRelative<Acc>)
    termsOf<Acc, A>(dst, x, [=](int64_t j) __attribute__((always_inline)) { return pivots[j]; }, n, number);
  else
    termsOf<Acc, A>(dst, x, [](int64_t) __attribute__((always_inline)) { return A(0); }, n, number);
}

template <class Acc, class A>
void merge(A* values, A* pivots, A count, const A* values2, const A* pivots2, A count2, int64_t n) {
#pragma clang loop vectorize(assume_safety)
  for (int64_t j = 0; j < n; ++j) Acc::template merge<A>(values[j], pivots[j], count, values2[j], pivots2[j], count2);
}

template <class Acc, class A>
void finish(A* values, const A* pivots, A count, A number, int64_t n) {
  for (int64_t j = 0; j < n; ++j)
    values[j] = Acc::template finish<A>(values[j], kIsRelative<Acc> ? pivots[j] : A(0), count, number);
}

template <class Acc, class A>
constexpr ReductionLoops<A> makeLoops() {
  ReductionLoops<A> loops{};
  loops.pivot = -1;
  if constexpr ((Acc::kTypes & kTypeBit<A>) != 0) {
    loops.identity = identityOf<A>(Acc::kJoin);
    loops.block = block<Acc, A>;
    loops.rows8 = rows8<JoinOf<Acc>, A>;
    loops.row1 = row1<JoinOf<Acc>, A>;
    if constexpr (kHasTerm<Acc>) loops.terms = terms<Acc, A>;
    if constexpr (kHasFinish<Acc>) loops.finish = finish<Acc, A>;
    if constexpr (kHasPivot<Acc>) {
      loops.pivot = indexOf<typename Acc::Pivot>();
      loops.merge = merge<Acc, A>;
    }
  }
  return loops;
}

#define SHUNT_LOOPS(name, index) makeLoops<accumulators::name, A>(),
template <class A>
constexpr ReductionTable<A> kTable = {{SHUNT_FORALL_ACCUMULATORS(SHUNT_LOOPS)}};
#undef SHUNT_LOOPS

}  // namespace

namespace SHUNT_ISA_NAMESPACE {
constinit const PerAccumulator<ReductionTable> kReductions = {kTable<float>, kTable<double>, kTable<int64_t>,
                                                              kTable<uint8_t>};
}  // namespace SHUNT_ISA_NAMESPACE

}  // namespace shunt::reduce
