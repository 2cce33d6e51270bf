// Softmax along rows. Short rows are done in groups, so that exp runs over many of them in one loop.
#include "kernels/nn/softmax_table.h"
#include "kernels/reduce/isa_lanes.h"

#include <shunt/elementwise/math/exp.h>
#include <shunt/elementwise/math/log.h>

namespace shunt::nn {
namespace {

using reduce::kBlock;
using reduce::MaxOp;
using reduce::SumOp;

/// Elements of a group of rows, and rows in it.
constexpr int64_t kGroup = 1024;
constexpr int64_t kGroupRows = 64;

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
    for (int64_t i = 0; i < n; ++i) out[r * n + i] = x[i] - largest;
  }
  expInto(buffer, out, rows * n);
  for (int64_t r = 0; r < rows; ++r) sums[r] = reduce::reduceBlock<SumOp, A>(buffer + r * n, n);
  if constexpr (Log)
    for (int64_t r = 0; r < rows; ++r) sums[r] = math::log(sums[r]);
  for (int64_t r = 0; r < rows; ++r) {
    const A s = sums[r];
    A* y = out + r * n;
    const A* e = buffer + r * n;
    if constexpr (Log)
      for (int64_t i = 0; i < n; ++i) y[i] = y[i] - s;
    else
      for (int64_t i = 0; i < n; ++i) y[i] = e[i] / s;
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

template <class A, bool Log>
void forward(A* out, const A* in, int64_t rows, int64_t n) {
  if (n > kGroup) {
    for (int64_t r = 0; r < rows; ++r) forwardRow<A, Log>(out + r * n, in + r * n, n);
    return;
  }
  const int64_t fitting = kGroup / n;
  const int64_t group = fitting < kGroupRows ? fitting : kGroupRows;
  for (int64_t r = 0; r < rows; r += group)
    forwardGroup<A, Log>(out + r * n, in + r * n, rows - r < group ? rows - r : group, n);
}

template <class A, bool Log>
SHUNT_ALWAYS_INLINE A gradSum(const A* grad, const A* y, int64_t n) {
  if constexpr (Log) return reduce::reduceBlock<SumOp, A>(grad, n);
  A product[kBlock];
  for (int64_t i = 0; i < n; ++i) product[i] = grad[i] * y[i];
  return reduce::reduceBlock<SumOp, A>(product, n);
}

template <class A, bool Log>
void backward(A* out, const A* grad, const A* y, int64_t rows, int64_t n) {
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
void forwardColumns(A* out, const A* in, int64_t n, int64_t stride, int64_t columns) {
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
void backwardColumns(A* out, const A* grad, const A* y, int64_t n, int64_t stride, int64_t columns) {
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

template <class A>
constexpr SoftmaxLoops<A> kLoops = {{forward<A, false>, forward<A, true>},
                                    {backward<A, false>, backward<A, true>},
                                    {forwardColumns<A, false>, forwardColumns<A, true>},
                                    {backwardColumns<A, false>, backwardColumns<A, true>}};

}  // namespace

namespace SHUNT_ISA_NAMESPACE {
constinit const SoftmaxTable kSoftmaxTable = {kLoops<float>, kLoops<double>};
}  // namespace SHUNT_ISA_NAMESPACE

}  // namespace shunt::nn
