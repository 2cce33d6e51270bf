// Softmax along rows. Short rows are done in groups, so that exp runs over many of them in one loop. Included only by
// sources compiled once per instruction set, and by those of generic loops; everything has internal linkage. Pure
// functions of their arguments; input and output may be the same memory, element for element.
#pragma once

#include "kernels/nn/softmax_table.h"
#include "kernels/rows/isa_lanes.h"

#include <shunt/elementwise/math/exp.h>
#include <shunt/elementwise/math/log.h>

namespace shunt::nn {
namespace {

using reduce::kBlock;
using reduce::MaxOp;
using reduce::SumOp;

constexpr int64_t kGroupRows = 64;
constexpr int64_t kShortRow = 128;
constexpr int64_t kLanes = 16;
// Of them, that a row fills where it has them to itself. Without fused multiply-adds the others' exp costs more than
// that saves.
#if defined(__FMA__)
constexpr int64_t kFewestLanes = 8;
#else
constexpr int64_t kFewestLanes = kLanes;
#endif

/// Rows of n <= kGroup elements that are computed together.
SHUNT_ALWAYS_INLINE int64_t groupOf(int64_t n) { return kGroup / n < kGroupRows ? kGroup / n : kGroupRows; }

template <class A>
SHUNT_ALWAYS_INLINE A maximum(const A* x, int64_t n) {
  A best = reduce::reduceBlock<MaxOp, A>(x, n < kBlock ? n : kBlock);
  for (int64_t i = kBlock; i < n; i += kBlock)
    MaxOp::apply(best, reduce::reduceBlock<MaxOp, A>(x + i, n - i < kBlock ? n - i : kBlock));
  return best;
}

template <class A>
SHUNT_ALWAYS_INLINE void expInto(A* out, const A* x, int64_t n) {
#pragma clang loop vectorize(assume_safety)
  for (int64_t i = 0; i < n; ++i) out[i] = math::exp(x[i]);
}

/// Rows of one group: rows * n <= kGroup.
template <class A, bool Log>
SHUNT_ALWAYS_INLINE void forwardGroup(A* out, const A* in, int64_t rows, int64_t n) {
  A buffer[kGroup], sums[kGroupRows];
  for (int64_t r = 0; r < rows; ++r) {
    const A* x = in + r * n;
    const A largest = reduce::reduceBlock<MaxOp, A>(x, n);
#pragma clang loop vectorize(assume_safety)
    for (int64_t i = 0; i < n; ++i) out[r * n + i] = x[i] - largest;
  }
  expInto(buffer, out, rows * n);
  for (int64_t r = 0; r < rows; ++r) sums[r] = A(0) + reduce::reduceBlock<SumOp, A>(buffer + r * n, n);
  if constexpr (Log)
    for (int64_t r = 0; r < rows; ++r) sums[r] = math::log(sums[r]);
  for (int64_t r = 0; r < rows; ++r) {
    const A s = sums[r];
    A* y = out + r * n;
    const A* e = buffer + r * n;
#pragma clang loop vectorize(assume_safety)
    for (int64_t i = 0; i < n; ++i) y[i] = Log ? y[i] - s : e[i] / s;
  }
}

/// The elements of a row as loadPart has them.
template <class A>
SHUNT_ALWAYS_INLINE void storePart(A* y, const reduce::Vec<A, kLanes>& v, int64_t n) {
  const reduce::Vec<A, 8> upper = v.hi;
  if ((n & 8) != 0) reduce::storeVec(y, reduce::Vec<A, 8>(v.lo));
  y += n & 8;
  if ((n & 4) != 0) reduce::storeVec(y, reduce::Vec<A, 4>(upper.lo));
  y += n & 4;
  if ((n & 2) != 0) reduce::storeVec(y, reduce::Vec<A, 2>(upper.s45));
  y += n & 2;
  if ((n & 1) != 0) *y = upper[6];
}

/// Rows of one group of fewer than 16 elements each, a row in its lanes: those without an element have the neutral one
/// all the way, so that the bits are forwardGroup's.
template <class A, bool Log>
SHUNT_ALWAYS_INLINE void forwardNarrow(A* out, const A* in, int64_t rows, int64_t n) {
  static_assert(kGroupRows * kLanes <= kGroup);
  A shifted[kGroup], exps[kGroup], sums[kGroupRows];
  reduce::Vec<A, kLanes> v;
  for (int64_t r = 0; r < rows; ++r) {
    reduce::loadPart<MaxOp, A>(v, in + r * n, n);
    v = v - reduce::joinLanes<MaxOp, A>(v);
    reduce::storeVec(shifted + r * kLanes, v);
  }
  expInto(exps, shifted, rows * kLanes);
  for (int64_t r = 0; r < rows; ++r) {
    reduce::loadVec(v, exps + r * kLanes);
    sums[r] = A(0) + reduce::joinLanes<SumOp, A>(v);
  }
  if constexpr (Log)
    for (int64_t r = 0; r < rows; ++r) sums[r] = math::log(sums[r]);
  for (int64_t r = 0; r < rows; ++r) {
    reduce::loadVec(v, (Log ? shifted : exps) + r * kLanes);
    v = Log ? v - sums[r] : v / sums[r];
    storePart(out + r * n, v, n);
  }
}

/// One row of any length. Blocks' sums are added in order.
template <class A, bool Log>
SHUNT_ALWAYS_INLINE void forwardRow(A* out, const A* in, int64_t n) {
  const A largest = maximum(in, n);
  A buffer[kBlock];
  A sum = 0;
  for (int64_t b = 0; b < n; b += kBlock) {
    const int64_t count = n - b < kBlock ? n - b : kBlock;
    for (int64_t i = 0; i < count; ++i) buffer[i] = in[b + i] - largest;
    A* e = Log ? buffer : out + b;
#pragma clang loop vectorize(assume_safety)
    for (int64_t i = 0; i < count; ++i) e[i] = math::exp(buffer[i]);
    sum += reduce::reduceBlock<SumOp, A>(e, count);
  }
  if constexpr (Log) {
    const A log_sum = math::log(sum);
    for (int64_t i = 0; i < n; ++i) out[i] = (in[i] - largest) - log_sum;
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = out[i] / sum;
  }
}

/// Rows of n <= kGroup elements.
template <class A, bool Log>
SHUNT_ALWAYS_INLINE void softmaxShortRows(A* out, const A* in, int64_t rows, int64_t n) {
  const int64_t group = groupOf(n);
  for (int64_t r = 0; r < rows; r += group) {
    const int64_t count = rows - r < group ? rows - r : group;
    if (count > 1 && n >= kFewestLanes && n < kLanes)
      forwardNarrow<A, Log>(out + r * n, in + r * n, count, n);
    else
      forwardGroup<A, Log>(out + r * n, in + r * n, count, n);
  }
}

template <class A, bool Log>
SHUNT_ALWAYS_INLINE void softmaxRows(A* out, const A* in, int64_t rows, int64_t n) {
  if (n <= kGroup) return softmaxShortRows<A, Log>(out, in, rows, n);
  for (int64_t r = 0; r < rows; ++r) forwardRow<A, Log>(out + r * n, in + r * n, n);
}

template <class A, bool Log>
SHUNT_ALWAYS_INLINE A gradSum(const A* grad, const A* y, int64_t n) {
  if constexpr (Log) return reduce::reduceBlock<SumOp, A>(grad, n);
  A product[kBlock];
  for (int64_t i = 0; i < n; ++i) product[i] = grad[i] * y[i];
  return reduce::reduceBlock<SumOp, A>(product, n);
}

/// Rows of one group, as forwardGroup: loops over single short rows are mostly their remainders, and what they store
/// is read back in other pieces.
template <class A, bool Log>
SHUNT_ALWAYS_INLINE void backwardGroup(A* out, const A* grad, const A* y, int64_t rows, int64_t n) {
  A buffer[kGroup], sums[kGroupRows];
  if constexpr (Log) {
    expInto(buffer, y, rows * n);
  } else {
    for (int64_t i = 0; i < rows * n; ++i) buffer[i] = grad[i] * y[i];
  }
  for (int64_t r = 0; r < rows; ++r) sums[r] = A(0) + reduce::reduceBlock<SumOp, A>((Log ? grad : buffer) + r * n, n);
  for (int64_t r = 0; r < rows; ++r) {
    const A sum = sums[r];
#pragma clang loop vectorize(assume_safety)
    for (int64_t i = r * n; i < (r + 1) * n; ++i) out[i] = Log ? grad[i] - buffer[i] * sum : (grad[i] - sum) * y[i];
  }
}

/// Rows of fewer than 16 elements each, not of logarithms: those would have exp of idle lanes.
template <class A>
SHUNT_ALWAYS_INLINE void backwardNarrow(A* out, const A* grad, const A* y, int64_t rows, int64_t n) {
  reduce::Vec<A, kLanes> g, f;
  for (int64_t r = 0; r < rows; ++r, out += n, grad += n, y += n) {
    reduce::loadPart<SumOp, A>(g, grad, n);
    reduce::loadPart<SumOp, A>(f, y, n);
    reduce::Vec<A, kLanes> terms = A(0);
    SumOp::apply(terms, decltype(terms)(g * f));
    const A sum = A(0) + reduce::joinLanes<SumOp, A>(terms);
    storePart(out, decltype(terms)((g - sum) * f), n);
  }
}

template <class A, bool Log>
SHUNT_ALWAYS_INLINE void softmaxBackwardRows(A* out, const A* grad, const A* y, int64_t rows, int64_t n) {
  if constexpr (!Log)
    if (n >= kFewestLanes && n < kLanes) return backwardNarrow(out, grad, y, rows, n);
  if (rows > 1 && n < kShortRow) {
    const int64_t group = groupOf(n);
    for (int64_t r = 0; r < rows; r += group)
      backwardGroup<A, Log>(out + r * n, grad + r * n, y + r * n, rows - r < group ? rows - r : group, n);
    return;
  }
  for (int64_t r = 0; r < rows; ++r, out += n, grad += n, y += n) {
    A sum = 0;
    for (int64_t b = 0; b < n; b += kBlock) sum += gradSum<A, Log>(grad + b, y + b, n - b < kBlock ? n - b : kBlock);
    if constexpr (Log) {
#pragma clang loop vectorize(assume_safety)
      for (int64_t i = 0; i < n; ++i) out[i] = grad[i] - math::exp(y[i]) * sum;
    } else {
#pragma clang loop vectorize(assume_safety)
      for (int64_t i = 0; i < n; ++i) out[i] = (grad[i] - sum) * y[i];
    }
  }
}

}  // namespace
}  // namespace shunt::nn
