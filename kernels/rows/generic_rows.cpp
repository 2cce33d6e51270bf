// The generic loops of reductions, along rows and down columns: what the compiler specialises. The interpreter doesn't
// run them.
#include "kernels/rows/first_of.h"
#include "kernels/rows/isa_lanes.h"
#include "kernels/rows/reduce_expected.h"
#include "kernels/rows/rows.h"

namespace shunt::reduce {
namespace {

template <class A>
SHUNT_ALWAYS_INLINE const A* block(A* buffer, const std::byte* p, ScalarType dtype, int64_t n) {
  // A bool's bytes may be other than 0 and 1, so they are never used in place.
  if (!std::is_same_v<A, uint8_t> && dtype == scalar_type_of<A>) return reinterpret_cast<const A*>(p);
  loadRow(buffer, p, dtype, n);
  return buffer;
}

template <ReduceOp O>
struct OpOf;
template <>
struct OpOf<ReduceOp::kSum> : SumOp {};
template <>
struct OpOf<ReduceOp::kProd> : ProdOp {};
template <>
struct OpOf<ReduceOp::kMax> : MaxOp {};
template <>
struct OpOf<ReduceOp::kMin> : MinOp {};

/// Rows of at most kBlock elements, as Reducer does it (reduce.cpp).
template <class Op, class A, bool Mean>
SHUNT_ALWAYS_INLINE void reduceRows(const rows::Call& call) {
  A buffer[kBlock];
  for (int64_t r = 0; r < call.outer; ++r) {
    const std::byte* row = call.in[0] + r * call.n * elementSize(call.dtype);
    A value = reduceBlock<Op, A>(block(buffer, row, call.dtype, call.n), call.n);
    if constexpr (Mean) value = value / static_cast<A>(call.n);
    storeRow(call.out[0] + r * elementSize(call.result), &value, call.result, 1);
  }
}

/// W neighbouring columns of at most kLongestColumn elements, from element `first` on, to results from `to` on, as
/// Reducer does it.
template <class Op, class A, bool Mean, int W>
SHUNT_ALWAYS_INLINE void reduceColumns(const rows::Call& call, int64_t first, int64_t to) {
  constexpr A kId = Op::template identity<A>();
  A buffer[8 * W];
  const int64_t size = elementSize(call.dtype);
  const auto row = [&](int slot, int64_t r) __attribute__((always_inline)) {
    return block(buffer + slot * W, call.in[0] + (first + r * call.inner) * size, call.dtype, W);
  };
  Vec<A, W> acc = kId;
  for (int64_t begin = 0; begin < call.n; begin += kRowBlock) {
    const int64_t end = call.n - begin < kRowBlock ? call.n : begin + kRowBlock;
    Vec<A, W> sum = kId, v;
    int64_t r = begin;
    for (; r + 8 <= end; r += 8) {
      const A* rows[8];
      for (int k = 0; k < 8; ++k) rows[k] = row(k, r + k);
      joinEightRows<Op, A, W>(sum, rows, 0);
    }
    for (; r < end; ++r) {
      loadVec(v, row(0, r));
      Op::apply(sum, v);
    }
    if (begin == 0)
      acc = sum;
    else
      Op::apply(acc, sum);
  }
  if constexpr (Mean) acc = acc / static_cast<A>(call.n);
  storeVec(buffer, acc);
  storeRow(call.out[0] + to * elementSize(call.result), buffer, call.result, W);
}

/// The same with indices, as ArgReducer does it (arg_reduce.cpp).
template <ReduceOp O, class A>
SHUNT_ALWAYS_INLINE void argReduceRows(const rows::Call& call) {
  A buffer[kBlock];
  for (int64_t r = 0; r < call.outer; ++r) {
    const A* x = block(buffer, call.in[0] + r * call.n * elementSize(call.dtype), call.dtype, call.n);
    const int64_t at = firstOf(x, call.n, reduceBlock<OpOf<O>, A>(x, call.n));
    reinterpret_cast<int64_t*>(call.out[0])[r] = at;
    if (call.out[1] != nullptr) storeRow(call.out[1] + r * elementSize(call.result), x + at, call.result, 1);
  }
}

/// `columns` <= kColumnGroup ones.
constexpr int64_t kColumnGroup = 64;
template <ReduceOp O, class A>
SHUNT_ALWAYS_INLINE void argReduceColumns(const rows::Call& call, int64_t first, int64_t to, int64_t columns) {
  A buffer[kColumnGroup], best[kColumnGroup];
  int64_t index[kColumnGroup];
  const int64_t size = elementSize(call.dtype);
  loadRow(best, call.in[0] + first * size, call.dtype, columns);
  for (int64_t j = 0; j < columns; ++j) index[j] = 0;
  for (int64_t r = 1; r < call.n; ++r)
    argRow<O == ReduceOp::kMax>(
        best, index, block(buffer, call.in[0] + (first + r * call.inner) * size, call.dtype, columns), r, columns);
  for (int64_t j = 0; j < columns; ++j) reinterpret_cast<int64_t*>(call.out[0])[to + j] = index[j];
  if (call.out[1] != nullptr) storeRow(call.out[1] + to * elementSize(call.result), best, call.result, columns);
}

}  // namespace

// With symbols, by which the compiler finds them.
template <ReduceOp O, class A, bool Mean, Span S>
void reduceLoop(const rows::Call& c) {
  const rows::Call call = c;
  if constexpr (S == Span::kRows) return reduceRows<OpOf<O>, A, Mean>(call);
  constexpr int64_t kGroup = kFewestColumns;
  // The last group may overlap the one before it.
  for (int64_t i = 0; i < call.outer; ++i)
    for (int64_t j = 0; j < call.inner; j += kGroup) {
      const int64_t at = j <= call.inner - kGroup ? j : call.inner - kGroup;
      reduceColumns<OpOf<O>, A, Mean, kGroup>(call, i * call.n * call.inner + at, i * call.inner + at);
    }
}

template <ReduceOp O, class A, Span S>
void argReduceLoop(const rows::Call& c) {
  const rows::Call call = c;
  if constexpr (S == Span::kRows) return argReduceRows<O, A>(call);
  for (int64_t i = 0; i < call.outer; ++i)
    for (int64_t j = 0; j < call.inner; j += kColumnGroup)
      argReduceColumns<O, A>(call, i * call.n * call.inner + j, i * call.inner + j,
                             call.inner - j < kColumnGroup ? call.inner - j : kColumnGroup);
}

namespace {

template <class A, Span S>
rows::LoopFn loopFor(ReduceOp op, bool mean) {
  if constexpr (std::is_floating_point_v<A>)
    if (mean) return op == ReduceOp::kSum ? reduceLoop<ReduceOp::kSum, A, true, S> : nullptr;
  if constexpr (!std::is_same_v<A, uint8_t>) {
    if (op == ReduceOp::kSum) return reduceLoop<ReduceOp::kSum, A, false, S>;
    if (op == ReduceOp::kProd) return reduceLoop<ReduceOp::kProd, A, false, S>;
  }
  if (op == ReduceOp::kMax) return reduceLoop<ReduceOp::kMax, A, false, S>;
  return op == ReduceOp::kMin ? reduceLoop<ReduceOp::kMin, A, false, S> : nullptr;
}

template <Span S>
rows::LoopFn loopFor(const Reduction& r) {
  switch (r.accumulator) {
    case Accumulator::kFloat:
      return loopFor<float, S>(r.op, r.mean);
    case Accumulator::kDouble:
      return loopFor<double, S>(r.op, r.mean);
    case Accumulator::kLong:
      return loopFor<int64_t, S>(r.op, r.mean);
    case Accumulator::kBool:
      return loopFor<uint8_t, S>(r.op, r.mean);
  }
  return nullptr;
}

template <ReduceOp O, Span S>
rows::LoopFn argLoopFor(Accumulator accumulator) {
  switch (accumulator) {
    case Accumulator::kFloat:
      return argReduceLoop<O, float, S>;
    case Accumulator::kDouble:
      return argReduceLoop<O, double, S>;
    case Accumulator::kLong:
      return argReduceLoop<O, int64_t, S>;
    case Accumulator::kBool:
      return argReduceLoop<O, uint8_t, S>;
  }
  return nullptr;
}

}  // namespace

rows::LoopFn genericRows(const Reduction& r, Span span) {
  return span == Span::kRows ? loopFor<Span::kRows>(r) : loopFor<Span::kColumns>(r);
}

rows::LoopFn genericArgRows(Accumulator accumulator, bool maximum, Span span) {
  constexpr auto kMax = ReduceOp::kMax, kMin = ReduceOp::kMin;
  if (span == Span::kRows)
    return maximum ? argLoopFor<kMax, Span::kRows>(accumulator) : argLoopFor<kMin, Span::kRows>(accumulator);
  return maximum ? argLoopFor<kMax, Span::kColumns>(accumulator) : argLoopFor<kMin, Span::kColumns>(accumulator);
}

}  // namespace shunt::reduce
