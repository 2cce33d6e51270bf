// Joining the results of blocks and chunks: two values by an operation, many pairwise. See Note [Order of reductions]
// in loop_table.h. Values only; any thread.
#pragma once

#include "kernels/rows/loop_table.h"

#include <limits>

namespace shunt::reduce {

template <class A>
constexpr A identityOf(Join op) {
  using Limits = std::numeric_limits<A>;
  constexpr bool kTruth = std::is_same_v<A, uint8_t>;  // "all" of nothing is true
  constexpr A kHighest = kTruth ? A(1) : Limits::has_infinity ? Limits::infinity() : Limits::max();
  constexpr A kLowest = Limits::has_infinity ? static_cast<A>(-Limits::infinity()) : Limits::lowest();
  constexpr A kIdentities[] = {A(0), A(1), kLowest, kHighest};  // by Join
  return kIdentities[static_cast<int>(op)];
}

/// What a Cascade joins by: a = a op b, of which a comes first in the order.
struct Add {
  template <class A>
  void operator()(A& a, const A& b) const {
    a += b;
  }
};

/// Pairs of equal height are joined as soon as there are two, so the tree depends on the number of values alone.
template <class T, class Joiner = Add>
class Cascade {
 public:
  explicit Cascade(Joiner join = {}) : join_(join) {}
  void push(const T& value) {
    T joined = value;
    int level = 0;
    for (uint64_t c = count_; (c & 1) != 0; c >>= 1) {
      join_(levels_[level], joined);
      joined = levels_[level++];
    }
    levels_[level] = joined;
    ++count_;
  }
  /// Of no values T().
  T result() const {
    if (count_ == 0) return T();
    int level = __builtin_ctzll(count_);
    T value = levels_[level];
    for (uint64_t c = count_ >> (level + 1); c != 0; c >>= 1) {
      if (++level, (c & 1) == 0) continue;
      T earlier = levels_[level];
      join_(earlier, value);
      value = earlier;
    }
    return value;
  }

 private:
  Joiner join_;
  uint64_t count_ = 0;
  T levels_[64];
};

}  // namespace shunt::reduce
