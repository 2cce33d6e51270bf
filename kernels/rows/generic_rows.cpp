// The generic loops of reductions along rows: what the compiler specialises. The interpreter doesn't run them.
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

}  // namespace

/// Of rows of at most kBlock elements, as Reducer does it (reduce.cpp). With a symbol, by which the compiler finds it.
template <ReduceOp O, class A, bool Mean>
void reduceRows(const rows::Call& c) {
  const rows::Call call = c;
  A buffer[kBlock];
  for (int64_t r = 0; r < call.rows; ++r) {
    const std::byte* row = call.in[0] + r * call.n * elementSize(call.dtype);
    A value = reduceBlock<OpOf<O>, A>(block(buffer, row, call.dtype, call.n), call.n);
    if constexpr (Mean) value = value / static_cast<A>(call.n);
    storeRow(call.out[0] + r * elementSize(call.result), &value, call.result, 1);
  }
}

/// The same with indices, as ArgReducer does it (arg_reduce.cpp).
template <ReduceOp O, class A>
void argReduceRows(const rows::Call& c) {
  const rows::Call call = c;
  A buffer[kBlock];
  for (int64_t r = 0; r < call.rows; ++r) {
    const A* x = block(buffer, call.in[0] + r * call.n * elementSize(call.dtype), call.dtype, call.n);
    const int64_t at = firstOf(x, call.n, reduceBlock<OpOf<O>, A>(x, call.n));
    reinterpret_cast<int64_t*>(call.out[0])[r] = at;
    if (call.out[1] != nullptr) storeRow(call.out[1] + r * elementSize(call.result), x + at, call.result, 1);
  }
}

namespace {

template <class A>
rows::LoopFn loopFor(ReduceOp op, bool mean) {
  if constexpr (std::is_floating_point_v<A>)
    if (mean) return op == ReduceOp::kSum ? reduceRows<ReduceOp::kSum, A, true> : nullptr;
  if constexpr (!std::is_same_v<A, uint8_t>) {
    if (op == ReduceOp::kSum) return reduceRows<ReduceOp::kSum, A, false>;
    if (op == ReduceOp::kProd) return reduceRows<ReduceOp::kProd, A, false>;
  }
  if (op == ReduceOp::kMax) return reduceRows<ReduceOp::kMax, A, false>;
  return op == ReduceOp::kMin ? reduceRows<ReduceOp::kMin, A, false> : nullptr;
}

}  // namespace

rows::LoopFn genericRows(const Reduction& r) {
  switch (r.accumulator) {
    case Accumulator::kFloat:
      return loopFor<float>(r.op, r.mean);
    case Accumulator::kDouble:
      return loopFor<double>(r.op, r.mean);
    case Accumulator::kLong:
      return loopFor<int64_t>(r.op, r.mean);
    case Accumulator::kBool:
      return loopFor<uint8_t>(r.op, r.mean);
  }
  return nullptr;
}

rows::LoopFn genericArgRows(Accumulator accumulator, bool maximum) {
  constexpr auto kMax = ReduceOp::kMax, kMin = ReduceOp::kMin;
  switch (accumulator) {
    case Accumulator::kFloat:
      return maximum ? argReduceRows<kMax, float> : argReduceRows<kMin, float>;
    case Accumulator::kDouble:
      return maximum ? argReduceRows<kMax, double> : argReduceRows<kMin, double>;
    case Accumulator::kLong:
      return maximum ? argReduceRows<kMax, int64_t> : argReduceRows<kMin, int64_t>;
    case Accumulator::kBool:
      return maximum ? argReduceRows<kMax, uint8_t> : argReduceRows<kMin, uint8_t>;
  }
  return nullptr;
}

}  // namespace shunt::reduce
