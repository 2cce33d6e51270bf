// Joining the results of blocks and chunks: two values by an operation, many pairwise. See Note [Order of reductions]
// in loop_table.h. Values only; any thread.
#pragma once

#include "kernels/rows/loop_table.h"

#include <limits>

namespace shunt::reduce {

template <class A>
A identityOf(ReduceOp op) {
  using Limits = std::numeric_limits<A>;
  constexpr bool kTruth = std::is_same_v<A, uint8_t>;  // "all" of nothing is true
  constexpr A kHighest = kTruth ? A(1) : Limits::has_infinity ? Limits::infinity() : Limits::max();
  constexpr A kLowest = Limits::has_infinity ? static_cast<A>(-Limits::infinity()) : Limits::lowest();
  constexpr A kIdentities[] = {A(0), A(1), kLowest, kHighest};
  return kIdentities[static_cast<int>(op)];
}

/// a before b in the order.
template <class A>
A join(ReduceOp op, A a, A b) {
  switch (op) {
    case ReduceOp::kSum:
      return static_cast<A>(a + b);
    case ReduceOp::kProd:
      return static_cast<A>(a * b);
    case ReduceOp::kMax:
      return (b > a || b != b) ? b : a;
    case ReduceOp::kMin:
      return (b < a || b != b) ? b : a;
  }
  __builtin_unreachable();
}

/// Pairs of equal height are joined as soon as there are two, so the tree depends on the number of values alone.
template <class A>
class Cascade {
 public:
  explicit Cascade(ReduceOp op) : op_(op) {}
  void push(A value) {
    int level = 0;
    for (uint64_t c = count_; (c & 1) != 0; c >>= 1) value = join(op_, levels_[level++], value);
    levels_[level] = value;
    ++count_;
  }
  A result() const {
    if (count_ == 0) return identityOf<A>(op_);
    int level = __builtin_ctzll(count_);
    A value = levels_[level];
    for (uint64_t c = count_ >> (level + 1); c != 0; c >>= 1)
      if (++level, (c & 1) != 0) value = join(op_, levels_[level], value);
    return value;
  }

 private:
  ReduceOp op_;
  uint64_t count_ = 0;
  A levels_[64];
};

}  // namespace shunt::reduce
