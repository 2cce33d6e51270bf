// Layer normalisation along rows, and its gradient. Included only by sources compiled once per instruction set, and by
// those of generic loops; everything has internal linkage. Pure functions of their arguments; a result may be the
// memory of the row that it is made of, element for element.
#pragma once

#include "kernels/nn/layer_norm_table.h"
#include "kernels/rows/isa_lanes.h"

namespace shunt::nn {
namespace {

using reduce::kBlock;

/// The sum of f(i) over a row of at most `Longest` elements, by blocks that are added in order.
template <class A, int64_t Longest, class F>
SHUNT_ALWAYS_INLINE A sumOf(int64_t n, const F& f) {
  A term[Longest < kBlock ? Longest : kBlock];
  A sum = 0;
  for (int64_t b = 0; b < n; b += kBlock) {
    const int64_t count = n - b < kBlock ? n - b : kBlock;
#pragma clang loop vectorize(assume_safety)
    for (int64_t i = 0; i < count; ++i) term[i] = f(b + i);
    sum += reduce::reduceBlock<reduce::SumOp, A>(term, count);
  }
  return sum;
}

/// The sum of a row's terms, by blocks that are added in order.
template <class A, class Terms = reduce::Unchanged>
SHUNT_ALWAYS_INLINE A sumOfRow(const A* x, int64_t n, const Terms& terms = {}) {
  A sum = 0;
  for (int64_t b = 0; b < n; b += kBlock)
    sum += reduce::reduceBlock<reduce::SumOp, A>(x + b, n - b < kBlock ? n - b : kBlock, terms);
  return sum;
}

template <class A>
SHUNT_ALWAYS_INLINE A squareRoot(A x) {
  if constexpr (sizeof(A) == sizeof(float))
    return __builtin_sqrtf(x);
  else
    return __builtin_sqrt(x);
}

template <class A>
SHUNT_ALWAYS_INLINE A meanOf(const A* x, int64_t n) {
  return n == 0 ? A(0) : sumOfRow(x, n) / static_cast<A>(n);  // as in PyTorch; 1 / the deviation is NaN then
}

template <class A>
SHUNT_ALWAYS_INLINE A rstdOf(const A* x, A mean, int64_t n, A eps) {
  const A squares = sumOfRow(x, n, [mean](auto& v) __attribute__((always_inline)) {
    v = v - mean;
    v = v * v;
  });
  return A(1) / squareRoot(squares / static_cast<A>(n) + eps);
}

template <class A>
SHUNT_ALWAYS_INLINE void writeNorm(const NormForward<A>& c, A* out, const A* x, A mean, A rstd) {
  const auto write = [&](const auto& scaled) __attribute__((always_inline)) {
#pragma clang loop vectorize(assume_safety)
    for (int64_t i = 0; i < c.n; ++i) out[i] = scaled((x[i] - mean) * rstd, i);
  };
  const A* w = c.weight;
  const A* b = c.bias;
  if (w != nullptr && b != nullptr)
    write([=](A y, int64_t i) __attribute__((always_inline)) { return y * w[i] + b[i]; });
  else if (w != nullptr)
    write([=](A y, int64_t i) __attribute__((always_inline)) { return y * w[i]; });
  else if (b != nullptr)
    write([=](A y, int64_t i) __attribute__((always_inline)) { return y + b[i]; });
  else
    write([](A y, int64_t) __attribute__((always_inline)) { return y; });
}

template <class A>
SHUNT_ALWAYS_INLINE void normRow(const NormForward<A>& c, A* out, const A* x, int64_t row) {
  const A mean = meanOf(x, c.n), rstd = rstdOf(x, mean, c.n, c.eps);
  c.mean[row] = mean;
  c.rstd[row] = rstd;
  writeNorm(c, out, x, mean, rstd);
}

/// Several rows, pass by pass. Within a row each pass waits for the one before; the passes of other rows don't, so that
/// the CPU overlaps them.
template <class A>
SHUNT_ALWAYS_INLINE void normRows(const NormForward<A>& c, A* out, const A* x, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) c.mean[r] = meanOf(x + r * c.n, c.n);
  for (int64_t r = 0; r < rows; ++r) c.rstd[r] = rstdOf(x + r * c.n, c.mean[r], c.n, c.eps);
  for (int64_t r = 0; r < rows; ++r) writeNorm(c, out + r * c.n, x + r * c.n, c.mean[r], c.rstd[r]);
}

/// With g = grad * weight and y = (x - mean) * rstd: rstd * (g - mean(g) - y * mean(g * y)).
template <int64_t Longest, class A, class Weight>
SHUNT_ALWAYS_INLINE void inputGradient(A* out, const A* grad, const A* x, A mean, A rstd, int64_t n,
                                       const Weight& weight) {
  const auto g = [&](int64_t i) __attribute__((always_inline)) { return grad[i] * weight(i); };
  const auto y = [&](int64_t i) __attribute__((always_inline)) { return (x[i] - mean) * rstd; };
  const auto count = static_cast<A>(n);
  const A of_g = sumOf<A, Longest>(n, g) / count;
  const A of_gy = sumOf<A, Longest>(n, [&](int64_t i) __attribute__((always_inline)) { return g(i) * y(i); }) / count;
#pragma clang loop vectorize(assume_safety)
  for (int64_t i = 0; i < n; ++i) out[i] = ((g(i) - of_g) - y(i) * of_gy) * rstd;
}

/// Adds to the parameters' gradients first: `out` may be `grad`.
template <int64_t Longest = INT64_MAX, class A>
SHUNT_ALWAYS_INLINE void normBackwardRow(const NormBackward<A>& c, A* out, const A* grad, const A* x, A mean, A rstd) {
  if (c.weight_grad != nullptr) {
#pragma clang loop vectorize(assume_safety)
    for (int64_t i = 0; i < c.n; ++i) c.weight_grad[i] += grad[i] * ((x[i] - mean) * rstd);
  }
  if (c.bias_grad != nullptr) {
#pragma clang loop vectorize(assume_safety)
    for (int64_t i = 0; i < c.n; ++i) c.bias_grad[i] += grad[i];
  }
  if (out == nullptr) return;
  const A* w = c.weight;
  const auto given = [=](int64_t i) __attribute__((always_inline)) { return w[i]; };
  const auto none = [](int64_t) __attribute__((always_inline)) { return A(1); };
  if (w != nullptr)
    inputGradient<Longest>(out, grad, x, mean, rstd, c.n, given);
  else
    inputGradient<Longest>(out, grad, x, mean, rstd, c.n, none);
}

}  // namespace
}  // namespace shunt::nn
