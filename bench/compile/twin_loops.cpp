// Compiled once for each instruction set (shunt_isa_objects), so everything here has internal linkage or is inlined.
//
// The order of operations is that of the operators, so that results are theirs to the bit.
#include "bench/compile/twin_loops.h"

#include "kernels/nn/layer_norm_rows.h"
#include "kernels/nn/softmax_rows.h"
#include "kernels/pointwise/functors/activation.h"
#include "kernels/rows/isa_lanes.h"

namespace bench::twins::SHUNT_ISA_NAMESPACE {
namespace {

namespace functors = shunt::functors;
namespace math = shunt::math;
namespace nn = shunt::nn;
namespace reduce = shunt::reduce;

#if defined(__AVX512F__)
constexpr int kMostTogether = 4;
#elif defined(__AVX2__)
constexpr int kMostTogether = 2;
#else
constexpr int kMostTogether = 1;
#endif

/// f(i) for each i < n; `Together` vectors of 16 at a time while there are as many, or what there are registers for.
template <int Together, class F>
SHUNT_ALWAYS_INLINE void forEach(int64_t n, const F& f) {
  constexpr int kTogether = Together < kMostTogether ? Together : kMostTogether;
  const int64_t rounds = n / (16 * kTogether) * (16 * kTogether);
#pragma clang loop vectorize(assume_safety) vectorize_width(16) interleave_count(kTogether)
  for (int64_t i = 0; i < rounds; ++i) f(i);
#pragma clang loop vectorize(assume_safety) vectorize_width(16) interleave_count(1)
  for (int64_t i = rounds; i < n; ++i) f(i);
}

SHUNT_ALWAYS_INLINE float positive(float x) { return x < 0 ? 0 : x; }

void chain(float* out, const float* a, const float* b, const float* c, int64_t n) {
  forEach<4>(n,
             [=](int64_t i) __attribute__((always_inline)) { out[i] = math::sigmoid(positive(a[i] * b[i] + c[i])); });
}

void chainGradients(float* const* grads, const float* grad, const float* a, const float* b, const float* c, int64_t n) {
  float *const to_a = grads[0], *const to_b = grads[1], *const to_c = grads[2];
  forEach<2>(n, [=](int64_t i) __attribute__((always_inline)) {
    const float r = positive(a[i] * b[i] + c[i]), y = math::sigmoid(r);
    const float of_relu = grad[i] * (1 - y) * y, of_sum = r <= 0 ? 0 : of_relu;
    to_a[i] = of_sum * b[i];
    to_b[i] = of_sum * a[i];
    to_c[i] = of_sum;
  });
}

void biasGelu(float* x, const float* bias, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r, x += columns)
    forEach<4>(columns, [=](int64_t i) __attribute__((always_inline)) { x[i] = functors::Gelu()(x[i] + bias[i]); });
}

void gelu(float* x, int64_t n) {
  forEach<4>(n, [=](int64_t i) __attribute__((always_inline)) { x[i] = functors::Gelu()(x[i]); });
}

void norm(float* out, const float* x, const float* r, const float* g, const float* b, int64_t rows, float eps) {
  float sum[kNormColumns], mean = 0, rstd = 0;
  const nn::NormForward<float> whole{g, b, &mean, &rstd, kNormColumns, eps};
  for (int64_t row = 0; row < rows; ++row, out += kNormColumns, x += kNormColumns, r += kNormColumns) {
    for (int64_t i = 0; i < kNormColumns; ++i) sum[i] = x[i] + r[i];
    nn::normRow(whole, out, sum, 0);
  }
}

void maskedSoftmax(float* scores, float s, const float* mask, int64_t rows, int64_t columns) {
  const int64_t group = nn::kGroup / columns;
  for (int64_t r = 0; r < rows; r += group) {
    const int64_t count = rows - r < group ? rows - r : group;
    float* const x = scores + r * columns;
    const float* const m = mask + r * columns;
    forEach<1>(count * columns, [=](int64_t i) __attribute__((always_inline)) { x[i] = x[i] / s + m[i]; });
    nn::softmaxShortRows<float, false>(x, x, count, columns);
  }
}

void adam(float* p, float* mean, float* square, const float* grad, int64_t n, const AdamNumbers& numbers) {
  const AdamNumbers c = numbers;
  forEach<1>(n, [=](int64_t i) __attribute__((always_inline)) {
    const float g = grad[i];
    const float m = mean[i] * c.mean_decay + c.mean_weight * g;
    const float v = square[i] * c.square_decay + c.square_weight * g * g;
    mean[i] = m;
    square[i] = v;
    p[i] = p[i] + c.step * m / (math::sqrt(v) / c.correction + c.epsilon);
  });
}

SHUNT_ALWAYS_INLINE float slope(float x, float y) { return y - x * x * y - x; }

void oscillator(float* next_x, float* next_y, const float* x, const float* y, int64_t n, double step) {
  const auto half = static_cast<float>(step / 2), full = static_cast<float>(step), sixth = static_cast<float>(step / 6);
  forEach<2>(n, [=](int64_t i) __attribute__((always_inline)) {
    const float x1 = x[i], y1 = y[i], a = slope(x1, y1);
    const float x2 = x1 + y1 * half, y2 = y1 + a * half, b = slope(x2, y2);
    const float x3 = x1 + y2 * half, y3 = y1 + b * half, c = slope(x3, y3);
    const float x4 = x1 + y3 * full, y4 = y1 + c * full, d = slope(x4, y4);
    next_x[i] = x1 + (y1 + y4 + (y2 + y3) * 2) * sixth;
    next_y[i] = y1 + (a + d + (b + c) * 2) * sixth;
  });
}

void relu(float* x, int64_t n) {
  forEach<1>(n, [=](int64_t i) __attribute__((always_inline)) { x[i] = positive(x[i]); });
}

void reluGradient(float* grad, const float* result, int64_t n) {
  forEach<1>(n, [=](int64_t i) __attribute__((always_inline)) { grad[i] = result[i] <= 0 ? 0 : grad[i]; });
}

float loss(float* z, const int64_t* targets, int64_t rows) {
  float log_p[kMostRows * kClasses], losses[kMostRows];
  nn::softmaxShortRows<float, true>(log_p, z, rows, kClasses);
  const auto count = static_cast<float>(rows);
  const float sum = -(1 / count);  // of a row's gradient at the log-probabilities, which has one element
  for (int64_t i = 0; i < rows * kClasses; ++i) z[i] = 0;
  for (int64_t r = 0; r < rows; ++r) {
    losses[r] = -log_p[r * kClasses + targets[r]];
    z[r * kClasses + targets[r]] = sum;
  }
  forEach<1>(rows * kClasses,
             [&](int64_t i) __attribute__((always_inline)) { z[i] = z[i] - math::exp(log_p[i]) * sum; });
  return reduce::reduceBlock<reduce::SumOp, float>(losses, rows) / count;
}

/// Of W columns.
template <int W>
SHUNT_ALWAYS_INLINE void sumColumns(float* out, const float* x, int64_t rows, int64_t columns) {
  reduce::Vec<float, W> sum = 0, v;
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    const float* eight[8];
    for (int k = 0; k < 8; ++k) eight[k] = x + (r + k) * columns;
    reduce::joinEightRows<reduce::SumOp, float, W>(sum, eight, 0);
  }
  for (; r < rows; ++r) {
    reduce::loadVec(v, x + r * columns);
    sum = sum + v;
  }
  reduce::storeVec(out, sum);
}

void columnSums(float* out, const float* x, int64_t rows, int64_t columns) {
  int64_t j = 0;
  for (; j + 16 <= columns; j += 16) sumColumns<16>(out + j, x + j, rows, columns);
  for (; j + 2 <= columns; j += 2) sumColumns<2>(out + j, x + j, rows, columns);
  for (; j < columns; ++j) sumColumns<1>(out + j, x + j, rows, columns);
}

void update(float* p, const float* grad, int64_t n, float factor) {
  forEach<2>(n, [=](int64_t i) __attribute__((always_inline)) { p[i] = p[i] + factor * grad[i]; });
}

}  // namespace

extern const Loops kLoops = {chain,      chainGradients, biasGelu,     gelu, norm,       maskedSoftmax, adam,
                             oscillator, relu,           reluGradient, loss, columnSums, update};

}  // namespace bench::twins::SHUNT_ISA_NAMESPACE
