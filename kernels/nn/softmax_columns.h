// Softmax down neighbouring columns, all of them at once. Included only by sources compiled once per instruction set,
// and by those of generic loops; everything has internal linkage. Pure functions of their arguments; input and output
// may be the same memory, element for element.
#pragma once

#include "kernels/nn/softmax_table.h"

#include <shunt/core/macros.h>
#include <shunt/elementwise/math/exp.h>
#include <shunt/elementwise/math/log.h>

namespace shunt::nn {
namespace {

/// sums[c] = the sum of term(i, c) over i, by blocks; `term` may store as it goes.
template <class A, class Term>
SHUNT_ALWAYS_INLINE void sumColumns(A* sums, int64_t n, int64_t columns, const Term& term) {
  for (int64_t c = 0; c < columns; ++c) sums[c] = 0;
  for (int64_t first = 0; first < n; first += kColumnBlock) {
    A block[kColumns] = {};
    const int64_t last = n - first < kColumnBlock ? n : first + kColumnBlock;
    for (int64_t i = first; i < last; ++i) {
#pragma clang loop vectorize(assume_safety)
      for (int64_t c = 0; c < columns; ++c) block[c] += term(i, c);
    }
    for (int64_t c = 0; c < columns; ++c) sums[c] += block[c];
  }
}

template <class A, bool Log>
SHUNT_ALWAYS_INLINE void forwardColumns(A* out, const A* in, int64_t n, int64_t stride, int64_t columns) {
  A largest[kColumns], sums[kColumns];
  for (int64_t c = 0; c < columns; ++c) largest[c] = in[c];
  for (int64_t i = 1; i < n; ++i) {
#pragma clang loop vectorize(assume_safety)
    for (int64_t c = 0; c < columns; ++c) {
      const A x = in[i * stride + c];
      largest[c] = ((x > largest[c]) | (x != x)) ? x : largest[c];
    }
  }
  sumColumns(sums, n, columns, [&](int64_t i, int64_t c) __attribute__((always_inline)) {
    const A e = math::exp(in[i * stride + c] - largest[c]);
    if constexpr (!Log) out[i * stride + c] = e;
    return e;
  });
  if constexpr (Log) {
#pragma clang loop vectorize(assume_safety)
    for (int64_t c = 0; c < columns; ++c) sums[c] = math::log(sums[c]);
  }
  for (int64_t i = 0; i < n; ++i) {
    A* y = out + i * stride;
    const A* x = in + i * stride;
#pragma clang loop vectorize(assume_safety)
    for (int64_t c = 0; c < columns; ++c) y[c] = Log ? (x[c] - largest[c]) - sums[c] : y[c] / sums[c];
  }
}

template <class A, bool Log>
SHUNT_ALWAYS_INLINE void backwardColumns(A* out, const A* grad, const A* y, int64_t n, int64_t stride,
                                         int64_t columns) {
  A sums[kColumns];
  sumColumns(sums, n, columns, [&](int64_t i, int64_t c) __attribute__((always_inline)) {
    return Log ? grad[i * stride + c] : grad[i * stride + c] * y[i * stride + c];
  });
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = i * stride;
#pragma clang loop vectorize(assume_safety)
    for (int64_t c = 0; c < columns; ++c)
      out[at + c] = Log ? grad[at + c] - math::exp(y[at + c]) * sums[c] : (grad[at + c] - sums[c]) * y[at + c];
  }
}

}  // namespace
}  // namespace shunt::nn
