// Lanes written out in the source: vectors of fixed width, the operations of reductions on them, and the sum of a
// block. Included only by sources compiled once per instruction set, and by those of generic loops; everything has
// internal linkage. See Note [Order of reductions] in loop_table.h.
#pragma once

#include "kernels/rows/loop_table.h"

#include <shunt/core/macros.h>

#include <limits>
#include <type_traits>

namespace shunt::reduce {
namespace {

template <class A, int W>
struct VectorOf {
  typedef A type __attribute__((ext_vector_type(W)));
};
template <class A>
struct VectorOf<A, 1> {
  using type = A;
};
template <class A, int W>
using Vec = typename VectorOf<A, W>::type;

template <class V, class A>
SHUNT_ALWAYS_INLINE void loadVec(V& v, const A* p) {
  __builtin_memcpy(&v, p, sizeof(V));
}
template <class V, class A>
SHUNT_ALWAYS_INLINE void storeVec(A* p, const V& v) {
  __builtin_memcpy(p, &v, sizeof(V));
}

// `apply` joins b, which comes later in the order, to a. Vectors go by reference: their calling convention differs by
// ISA.
struct SumOp {
  template <class A>
  static constexpr A identity() {
    return A(0);
  }
  template <class V>
  SHUNT_ALWAYS_INLINE static void apply(V& a, const V& b) {
    a = a + b;
  }
};

struct ProdOp {
  template <class A>
  static constexpr A identity() {
    return A(1);
  }
  template <class V>
  SHUNT_ALWAYS_INLINE static void apply(V& a, const V& b) {
    a = a * b;
  }
};

struct MaxOp {
  template <class A>
  static constexpr A identity() {
    if constexpr (std::is_floating_point_v<A>)
      return -std::numeric_limits<A>::infinity();
    else
      return std::numeric_limits<A>::lowest();
  }
  // A NaN in a stays: nothing is greater than it.
  template <class V>
  SHUNT_ALWAYS_INLINE static void apply(V& a, const V& b) {
    a = ((b > a) | (b != b)) ? b : a;
  }
};

struct MinOp {
  template <class A>
  static constexpr A identity() {
    if constexpr (std::is_floating_point_v<A>)
      return std::numeric_limits<A>::infinity();
    else
      return std::numeric_limits<A>::max();
  }
  template <class V>
  SHUNT_ALWAYS_INLINE static void apply(V& a, const V& b) {
    a = ((b < a) | (b != b)) ? b : a;
  }
};

/// What makes terms of elements, in place: of a vector of them, or of one. This one leaves them as they are.
struct Unchanged {
  template <class V>
  SHUNT_ALWAYS_INLINE void operator()(V&) const {}
};

template <class V, class A, class Terms>
SHUNT_ALWAYS_INLINE void loadTerms(V& v, const A* x, const Terms& terms) {
  loadVec(v, x);
  terms(v);
}

/// The terms of fewer than 16 elements: pieces of 8, 4, 2 and 1 go to lanes 0-7, 8-11, 12-13 and 14.
template <class Op, class A, class Terms = Unchanged>
SHUNT_ALWAYS_INLINE void loadPart(Vec<A, 16>& v, const A* x, int64_t n, const Terms& terms = {}) {
  constexpr A kId = Op::template identity<A>();
  Vec<A, 8> p8 = kId;
  Vec<A, 4> p4 = kId;
  Vec<A, 2> p2 = kId;
  A p1 = kId;
  if ((n & 8) != 0) loadTerms(p8, x, terms);
  x += n & 8;
  if ((n & 4) != 0) loadTerms(p4, x, terms);
  x += n & 4;
  if ((n & 2) != 0) loadTerms(p2, x, terms);
  x += n & 2;
  if ((n & 1) != 0) loadTerms(p1, x, terms);
  const Vec<A, 4> last = {p2.x, p2.y, p1, kId};
  const Vec<A, 8> upper = __builtin_shufflevector(p4, last, 0, 1, 2, 3, 4, 5, 6, 7);
  v = __builtin_shufflevector(p8, upper, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

template <class Op, class A>
SHUNT_ALWAYS_INLINE A joinLanes(const Vec<A, 16>& v) {
  Vec<A, 8> v8 = v.lo;
  Op::apply(v8, Vec<A, 8>(v.hi));
  Vec<A, 4> v4 = v8.lo;
  Op::apply(v4, Vec<A, 4>(v8.hi));
  Vec<A, 2> v2 = v4.lo;
  Op::apply(v2, Vec<A, 2>(v4.hi));
  A v1 = v2.x;
  Op::apply(v1, A(v2.y));
  return v1;
}

/// acc = acc op tree(rows[0][0] .. rows[7][0]), and so on for W columns.
template <class Op, class A, int W>
SHUNT_ALWAYS_INLINE void joinEightRows(Vec<A, W>& acc, const A* const* rows, int64_t j) {
  Vec<A, W> v[8];
#pragma clang loop unroll(full)
  for (int r = 0; r < 8; ++r) loadVec(v[r], rows[r] + j);
#pragma clang loop unroll(full)
  for (int step = 1; step < 8; step *= 2) {
#pragma clang loop unroll(full)
    for (int r = 0; r < 8; r += 2 * step) Op::apply(v[r], v[r + step]);
  }
  Op::apply(acc, v[0]);
}

/// Takes 64 elements.
template <class Op, class A, class Terms = Unchanged>
SHUNT_ALWAYS_INLINE void addLanes(Vec<A, 16>* acc, const A* x, const Terms& terms = {}) {
  Vec<A, 16> v;
#pragma clang loop unroll(full)
  for (int k = 0; k < 4; ++k) {
    loadTerms(v, x + 16 * k, terms);
    Op::apply(acc[k], v);
  }
}

/// Takes the last n < 64 elements, and joins all.
template <class Op, class A, class Terms = Unchanged>
SHUNT_ALWAYS_INLINE A endLanes(Vec<A, 16>* acc, const A* x, int64_t n, const Terms& terms = {}) {
  using V = Vec<A, 16>;
  V v;
  int64_t i = 0;
  const auto addGroup = [&](V& to) __attribute__((always_inline)) {
    if (n - i < 16) return;
    loadTerms(v, x + i, terms);
    Op::apply(to, v);
    i += 16;
  };
  addGroup(acc[0]);
  addGroup(acc[1]);
  addGroup(acc[2]);
  // Fewer than 16 are left, for the next accumulator: loaded in one place, since there is much code to that.
  if (i < n) {
    loadPart<Op, A>(v, x + i, n - i, terms);
    switch ((n >> 4) & 3) {
      case 0:
        Op::apply(acc[0], v);
        break;
      case 1:
        Op::apply(acc[1], v);
        break;
      case 2:
        Op::apply(acc[2], v);
        break;
      default:
        Op::apply(acc[3], v);
        break;
    }
  }
  Op::apply(acc[0], acc[1]);
  Op::apply(acc[2], acc[3]);
  Op::apply(acc[0], acc[2]);
  return joinLanes<Op, A>(acc[0]);
}

/// The reduction of the terms of n <= kBlock consecutive elements.
template <class Op, class A, class Terms = Unchanged>
SHUNT_ALWAYS_INLINE A reduceBlock(const A* x, int64_t n, const Terms& terms = {}) {
  constexpr A kId = Op::template identity<A>();
  Vec<A, 16> acc[4] = {kId, kId, kId, kId};
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) addLanes<Op, A>(acc, x + i, terms);
  return endLanes<Op, A>(acc, x + i, n - i, terms);
}

}  // namespace
}  // namespace shunt::reduce
