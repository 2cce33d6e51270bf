// Loops that join elements: along a block, and row by row across columns.
#include "kernels/rows/isa_lanes.h"

namespace shunt::reduce {
namespace {

template <class Op, class A>
A block(const A* x, int64_t n) {
  return reduceBlock<Op, A>(x, n);
}

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

template <class A, class... Ops>
constexpr BlockLoops<A> makeLoops() {
  return {{block<Ops, A>...}, {rows8<Ops, A>...}, {row1<Ops, A>...}};
}

// Truth values know only "any" and "all".
constexpr BlockLoops<uint8_t> kBoolLoops = {
    {nullptr, nullptr, block<MaxOp, uint8_t>, block<MinOp, uint8_t>},
    {nullptr, nullptr, rows8<MaxOp, uint8_t>, rows8<MinOp, uint8_t>},
    {nullptr, nullptr, row1<MaxOp, uint8_t>, row1<MinOp, uint8_t>},
};

}  // namespace

namespace SHUNT_ISA_NAMESPACE {
constinit const PerAccumulator<BlockLoops> kBlockLoops = {
    makeLoops<float, SumOp, ProdOp, MaxOp, MinOp>(), makeLoops<double, SumOp, ProdOp, MaxOp, MinOp>(),
    makeLoops<int64_t, SumOp, ProdOp, MaxOp, MinOp>(), kBoolLoops};
}  // namespace SHUNT_ISA_NAMESPACE

}  // namespace shunt::reduce
