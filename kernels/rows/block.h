// What an accumulator makes of a block of elements, for one instruction set or for the compiler. Everything has
// internal linkage. Pure functions on the caller's memory.
#pragma once

#include "kernels/rows/accumulators.h"
#include "kernels/rows/isa_lanes.h"

namespace shunt::reduce {
namespace {

template <Join J>
struct OpOf;
template <>
struct OpOf<Join::kSum> : SumOp {};
template <>
struct OpOf<Join::kProd> : ProdOp {};
template <>
struct OpOf<Join::kMax> : MaxOp {};
template <>
struct OpOf<Join::kMin> : MinOp {};

template <class Acc>
using JoinOf = OpOf<Acc::kJoin>;

/// dst[j] = the term of x[j]; both may be the same memory.
template <class Acc, class A, class Pivots>
SHUNT_ALWAYS_INLINE void termsOf(A* dst, const A* x, const Pivots& pivot, int64_t n, A number) {
#pragma clang loop vectorize(assume_safety)
  for (int64_t j = 0; j < n; ++j) dst[j] = Acc::template term<A>(x[j], pivot(j), number);
}

template <class Acc, class A>
SHUNT_ALWAYS_INLINE A finished(A value, A pivot, A count, A number) {
  if constexpr (kHasFinish<Acc>)
    return Acc::template finish<A>(value, pivot, count, number);
  else
    return value;
}

/// The terms of n <= kBlock consecutive elements, joined.
template <class Acc, class A>
SHUNT_ALWAYS_INLINE A joinBlock(const A* x, int64_t n, A pivot, A number) {
  using Op = JoinOf<Acc>;
  if constexpr (!kHasTerm<Acc>) {
    return reduceBlock<Op, A>(x, n);
  } else {
    constexpr A kId = Op::template identity<A>();
    Vec<A, 16> acc[4] = {kId, kId, kId, kId};
    A terms[64];
    const auto same = [=](int64_t) __attribute__((always_inline)) { return pivot; };
    int64_t i = 0;
    for (; i + 64 <= n; i += 64) {
      termsOf<Acc, A>(terms, x + i, same, 64, number);
      addLanes<Op, A>(acc, terms);
    }
    termsOf<Acc, A>(terms, x + i, same, n - i, number);
    return endLanes<Op, A>(acc, terms, n - i);
  }
}

/// The pivot of n <= kBlock consecutive elements; 0 where there is none.
template <class Acc, class A>
SHUNT_ALWAYS_INLINE A pivotOf(const A* x, int64_t n) {
  if constexpr (!kHasPivot<Acc>) {
    return A(0);
  } else {
    using P = typename Acc::Pivot;
    const A first = P::kFromFirst && n > 0 ? x[0] : A(0);
    return finished<P, A>(joinBlock<P, A>(x, n, first, A(0)), first, static_cast<A>(n), A(0));
  }
}

}  // namespace
}  // namespace shunt::reduce
