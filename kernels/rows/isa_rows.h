// Reductions and scans of dense rows and columns that are short enough to need no plan (row_loops.h), for one
// instruction set. Included by isa_rows_1.cpp and isa_rows_2.cpp only, which share the compute types, since one object
// took 13 s; everything has internal linkage. Pure functions on the caller's memory.
#pragma once

#include "kernels/rows/arg_reduce.h"
#include "kernels/rows/block.h"
#include "kernels/rows/descriptor.h"
#include "kernels/rows/first_of.h"
#include "kernels/rows/row_loops.h"
#include "kernels/rows/rows.h"
#include "kernels/rows/scan.h"

namespace shunt::reduce {
namespace {

using rows::ComputeType;
using rows::Span;

template <class A>
SHUNT_ALWAYS_INLINE const A* block(A* buffer, const std::byte* p, ScalarType dtype, int64_t n) {
  // A bool's bytes may be other than 0 and 1, so they are never used in place.
  if (!std::is_same_v<A, uint8_t> && dtype == scalar_type_of<A>) return reinterpret_cast<const A*>(p);
  loadRow(buffer, p, dtype, n);
  return buffer;
}

/// Values and pivots as results.
template <class Acc, class A>
SHUNT_ALWAYS_INLINE void storeResults(const rows::Call& call, int64_t to, A* values, const A* pivots, int64_t n) {
  for (int64_t j = 0; j < n; ++j)
    values[j] = finished<Acc, A>(values[j], pivots[j], static_cast<A>(call.n), static_cast<A>(call.number));
  const int64_t at = to * elementSize(call.result);
  storeRow(call.out[0] + at, values, call.result, n);
  if constexpr (kHasPivot<Acc>)
    if (call.out[1] != nullptr) storeRow(call.out[1] + at, pivots, call.result, n);
}

/// Rows of at most kBlock elements, as Reducer does it (reduce.cpp).
template <class Acc, class A>
SHUNT_ALWAYS_INLINE void reduceRows(const rows::Call& call) {
  A buffer[kBlock];
  for (int64_t r = 0; r < call.outer; ++r) {
    const A* x = block(buffer, call.in[0] + r * call.n * elementSize(call.dtype), call.dtype, call.n);
    const A pivot = pivotOf<Acc, A>(x, call.n);
    A value = joinBlock<Acc, A>(x, call.n, pivot, static_cast<A>(call.number));
    storeResults<Acc>(call, r, &value, &pivot, 1);
  }
}

/// W neighbouring columns.
template <class A, int W>
struct Columns {
  const rows::Call& call;
  int64_t first;  // element
  A* buffer;      // of 8 * W

  SHUNT_ALWAYS_INLINE const A* row(int slot, int64_t r) const {
    return block(buffer + slot * W, call.in[0] + (first + r * call.inner) * elementSize(call.dtype), call.dtype, W);
  }
  /// The terms of a row.
  template <class Acc>
  SHUNT_ALWAYS_INLINE const A* terms(int slot, int64_t r, const A* pivots) const {
    const A* x = row(slot, r);
    if constexpr (!kHasTerm<Acc>) {
      return x;
    } else {
      A* const to = buffer + slot * W;
      termsOf<Acc, A>(
          to, x, [=](int64_t j) __attribute__((always_inline)) { return kIsRelative<Acc> ? pivots[j] : A(0); }, W,
          static_cast<A>(call.number));
      return to;
    }
  }
  /// The terms of rows [begin, end), at most kRowBlock, joined.
  template <class Acc>
  SHUNT_ALWAYS_INLINE void joinRows(A* to, const A* pivots, int64_t begin, int64_t end) const {
    using Op = JoinOf<Acc>;
    Vec<A, W> sum = Op::template identity<A>(), v;
    int64_t r = begin;
    for (; r + 8 <= end; r += 8) {
      const A* eight[8];
      for (int k = 0; k < 8; ++k) eight[k] = terms<Acc>(k, r + k, pivots);
      joinEightRows<Op, A, W>(sum, eight, 0);
    }
    for (; r < end; ++r) {
      loadVec(v, terms<Acc>(0, r, pivots));
      Op::apply(sum, v);
    }
    storeVec(to, sum);
  }
  template <class Acc>
  SHUNT_ALWAYS_INLINE void rowBlock(A* values, A* pivots, int64_t begin, int64_t end) const {
    if constexpr (kHasPivot<Acc>) {
      using P = typename Acc::Pivot;
      A firsts[W];
      __builtin_memcpy(firsts, row(0, begin), sizeof(firsts));
      joinRows<P>(pivots, firsts, begin, end);
      for (int j = 0; j < W; ++j) pivots[j] = finished<P, A>(pivots[j], firsts[j], static_cast<A>(end - begin), A(0));
    }
    joinRows<Acc>(values, pivots, begin, end);
  }
};

/// At most kLongestColumn elements of W neighbouring columns, from element `first` on, to results from `to` on, as
/// Reducer does it.
template <class Acc, class A, int W>
SHUNT_ALWAYS_INLINE void reduceColumns(const rows::Call& call, int64_t first, int64_t to) {
  A buffer[8 * W], values[W], pivots[W] = {}, next[W], next_pivots[W] = {};
  const Columns<A, W> columns{call, first, buffer};
  columns.template rowBlock<Acc>(values, pivots, 0, call.n < kRowBlock ? call.n : kRowBlock);
  for (int64_t begin = kRowBlock; begin < call.n; begin += kRowBlock) {
    const int64_t end = call.n - begin < kRowBlock ? call.n : begin + kRowBlock;
    columns.template rowBlock<Acc>(next, next_pivots, begin, end);
    for (int j = 0; j < W; ++j) {
      if constexpr (kHasPivot<Acc>)
        Acc::template merge<A>(values[j], pivots[j], static_cast<A>(begin), next[j], next_pivots[j],
                               static_cast<A>(end - begin));
      else
        JoinOf<Acc>::apply(values[j], next[j]);
    }
  }
  storeResults<Acc>(call, to, values, pivots, W);
}

/// Indices are the second result, or the only one.
SHUNT_ALWAYS_INLINE int64_t* indicesOf(const rows::Call& call) {
  return reinterpret_cast<int64_t*>(call.out[1] != nullptr ? call.out[1] : call.out[0]);
}

/// The same with indices, as ArgReducer does it (arg_reduce.cpp).
template <Join J, class A>
SHUNT_ALWAYS_INLINE void argReduceRows(const rows::Call& call) {
  A buffer[kBlock];
  for (int64_t r = 0; r < call.outer; ++r) {
    const A* x = block(buffer, call.in[0] + r * call.n * elementSize(call.dtype), call.dtype, call.n);
    const int64_t at = firstOf(x, call.n, reduceBlock<OpOf<J>, A>(x, call.n));
    indicesOf(call)[r] = at;
    if (call.out[1] != nullptr) storeRow(call.out[0] + r * elementSize(call.result), x + at, call.result, 1);
  }
}

/// `columns` <= kColumnGroup ones.
constexpr int64_t kColumnGroup = 64;
template <Join J, class A>
SHUNT_ALWAYS_INLINE void argReduceColumns(const rows::Call& call, int64_t first, int64_t to, int64_t columns) {
  A buffer[kColumnGroup], best[kColumnGroup];
  int64_t index[kColumnGroup];
  const int64_t size = elementSize(call.dtype);
  loadRow(best, call.in[0] + first * size, call.dtype, columns);
  for (int64_t j = 0; j < columns; ++j) index[j] = 0;
  for (int64_t r = 1; r < call.n; ++r)
    argRow<J == Join::kMax>(
        best, index, block(buffer, call.in[0] + (first + r * call.inner) * size, call.dtype, columns), r, columns);
  for (int64_t j = 0; j < columns; ++j) indicesOf(call)[to + j] = index[j];
  if (call.out[1] != nullptr) storeRow(call.out[0] + to * elementSize(call.result), best, call.result, columns);
}

/// A running value along each row, or down columns as they lie.
template <class Acc, class A>
SHUNT_ALWAYS_INLINE void scanRow(const rows::Call& call, int64_t first) {
  A buffer[kScanBlock];
  A running = identityOf<A>(Acc::kJoin);
  for (int64_t i = 0; i < call.n; i += kScanBlock) {
    const int64_t n = call.n - i < kScanBlock ? call.n - i : kScanBlock;
    loadRow(buffer, call.in[0] + (first + i) * elementSize(call.dtype), call.dtype, n);
    running = scanBlock<Acc, A>(buffer, n, running);
    storeRow(call.out[0] + (first + i) * elementSize(call.result), buffer, call.result, n);
  }
}

template <class Acc, class A>
SHUNT_ALWAYS_INLINE void scanColumns(const rows::Call& call, int64_t first, int64_t columns) {
  A running[kScanBlock], row[kScanBlock];
  for (int64_t j = 0; j < columns; ++j) running[j] = identityOf<A>(Acc::kJoin);
  for (int64_t r = 0; r < call.n; ++r) {
    const int64_t at = first + r * call.inner;
    loadRow(row, call.in[0] + at * elementSize(call.dtype), call.dtype, columns);
    stepColumns<Acc, A>(running, row, columns);
    storeRow(call.out[0] + at * elementSize(call.result), running, call.result, columns);
  }
}

/// f(call) with dtypes that are constants where most calls have these: A's own, and float where a scan is computed in
/// double.
template <class A, bool Scan, class F>
SHUNT_ALWAYS_INLINE void withKnownTypes(const rows::Call& c, const F& f) {
  rows::Call call = c;
  constexpr ScalarType kOwn = scalar_type_of<A>;
  if (!std::is_same_v<A, uint8_t> && c.dtype == kOwn && c.result == kOwn) {
    call.dtype = call.result = kOwn;
    return f(call);
  }
  if (Scan && std::is_same_v<A, double> && c.dtype == kFloat && c.result == kFloat) {
    call.dtype = call.result = kFloat;
    return f(call);
  }
  f(call);
}

template <class Acc, class A, Span S>
void reduceLoop(const rows::Call& c) {
  withKnownTypes<A, /*Scan=*/false>(c, [](const rows::Call& call) __attribute__((always_inline)) {
    if constexpr (S == Span::kRows) return reduceRows<Acc, A>(call);
    constexpr int64_t kGroup = rows::kFewestColumns;
    // The last group may overlap the one before it.
    for (int64_t i = 0; i < call.outer; ++i)
      for (int64_t j = 0; j < call.inner; j += kGroup) {
        const int64_t at = j <= call.inner - kGroup ? j : call.inner - kGroup;
        reduceColumns<Acc, A, kGroup>(call, i * call.n * call.inner + at, i * call.inner + at);
      }
  });
}

template <class Acc, class A, Span S>
void scanLoop(const rows::Call& c) {
  withKnownTypes<A, /*Scan=*/true>(c, [](const rows::Call& call) __attribute__((always_inline)) {
    if constexpr (S == Span::kRows) {
      for (int64_t r = 0; r < call.outer; ++r) scanRow<Acc, A>(call, r * call.n);
      return;
    }
    for (int64_t i = 0; i < call.outer; ++i)
      for (int64_t j = 0; j < call.inner; j += kScanBlock)
        scanColumns<Acc, A>(call, i * call.n * call.inner + j,
                            call.inner - j < kScanBlock ? call.inner - j : kScanBlock);
  });
}

template <Join J, class A, Span S>
void argReduceLoop(const rows::Call& c) {
  const rows::Call call = c;
  if constexpr (S == Span::kRows) return argReduceRows<J, A>(call);
  for (int64_t i = 0; i < call.outer; ++i)
    for (int64_t j = 0; j < call.inner; j += kColumnGroup)
      argReduceColumns<J, A>(call, i * call.n * call.inner + j, i * call.inner + j,
                             call.inner - j < kColumnGroup ? call.inner - j : kColumnGroup);
}

template <class Acc, bool Scan, class A>
constexpr void addLoops(RowLoops& loops) {
  if constexpr ((Acc::kTypes & kTypeBit<A>) != 0) {
    rows::LoopFn* const of = loops.of[static_cast<int>(kComputeTypeOf<A>)];
    if constexpr (!Scan) {
      of[0] = reduceLoop<Acc, A, Span::kRows>;
      of[1] = reduceLoop<Acc, A, Span::kColumns>;
    } else if constexpr (kScans<Acc>) {
      of[0] = scanLoop<Acc, A, Span::kRows>;
      of[1] = scanLoop<Acc, A, Span::kColumns>;
    }
  }
}

template <class Acc, bool Scan, class... As>
constexpr RowLoops loopsOf() {
  RowLoops loops;
  (addLoops<Acc, Scan, As>(loops), ...);
  return loops;
}

template <Join J, class A>
constexpr void addArgLoops(RowLoops& loops) {
  rows::LoopFn* const of = loops.of[static_cast<int>(kComputeTypeOf<A>)];
  of[0] = argReduceLoop<J, A, Span::kRows>;
  of[1] = argReduceLoop<J, A, Span::kColumns>;
}

template <Join J, class... As>
constexpr RowLoops argLoopsOf() {
  RowLoops loops;
  (addArgLoops<J, As>(loops), ...);
  return loops;
}

/// What is computed in the types As.
template <class... As>
constexpr RowTable rowTableOf() {
#define SHUNT_REDUCTION(name, index) loopsOf<accumulators::name, false, As...>(),
#define SHUNT_SCAN(name, index) loopsOf<accumulators::name, true, As...>(),
  return {{SHUNT_FORALL_ACCUMULATORS(SHUNT_REDUCTION)},
          {SHUNT_FORALL_ACCUMULATORS(SHUNT_SCAN)},
          {argLoopsOf<Join::kMin, As...>(), argLoopsOf<Join::kMax, As...>()}};
#undef SHUNT_SCAN
#undef SHUNT_REDUCTION
}

}  // namespace
}  // namespace shunt::reduce
