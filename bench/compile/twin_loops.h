// The loops of bench_compile's twins: tables of functions that are compiled for one instruction set each, and chosen at
// run time (twins.cpp). Constant; any thread may call them.
//
// Included by sources compiled for AVX2 and AVX-512, hence without inline functions and without headers that have any:
// the linker could take such a source's copy of one for the whole program.
#pragma once

#include <stdint.h>

namespace bench::twins {

/// Columns of the rows that `norm` takes, classes of those that `loss` takes, and the most rows of the latter.
constexpr int64_t kNormColumns = 256, kClasses = 10, kMostRows = 32;

struct AdamNumbers {
  float mean_decay, mean_weight, square_decay, square_weight, correction, epsilon, step;
};

/// Memory of results may be that of operands only where one pointer is both.
struct Loops {
  /// out = sigmoid(relu(a * b + c))
  void (*chain)(float* out, const float* a, const float* b, const float* c, int64_t n);
  /// The gradients of the same, from that of its result.
  void (*chain_gradients)(float* const* grads, const float* grad, const float* a, const float* b, const float* c,
                          int64_t n);
  /// x = gelu(x + bias), row by row; x = gelu(x).
  void (*bias_gelu)(float* x, const float* bias, int64_t rows, int64_t columns);
  void (*gelu)(float* x, int64_t n);
  /// out = layer_norm(x + r) * g + b for rows of kNormColumns.
  void (*norm)(float* out, const float* x, const float* r, const float* g, const float* b, int64_t rows, float eps);
  /// scores = softmax(scores / s + mask) along rows.
  void (*masked_softmax)(float* scores, float s, const float* mask, int64_t rows, int64_t columns);
  void (*adam)(float* p, float* mean, float* square, const float* grad, int64_t n, const AdamNumbers& numbers);
  /// A step of RK4 for the van der Pol oscillator.
  void (*oscillator)(float* next_x, float* next_y, const float* x, const float* y, int64_t n, double step);
  void (*relu)(float* x, int64_t n);
  /// grad = 0 where the result of relu is not positive.
  void (*relu_gradient)(float* grad, const float* result, int64_t n);
  /// The mean cross entropy of rows of kClasses; z becomes its gradient.
  float (*loss)(float* z, const int64_t* targets, int64_t rows);
  void (*column_sums)(float* out, const float* x, int64_t rows, int64_t columns);
  /// p = p + factor * grad
  void (*update)(float* p, const float* grad, int64_t n, float factor);
};

namespace baseline {
extern const Loops kLoops;
}
namespace v3 {
extern const Loops kLoops;
}
namespace v4 {
extern const Loops kLoops;
}

}  // namespace bench::twins
