// Negative log-likelihood of target classes along samples, and its gradient, as loops over memory. Everything has
// internal linkage. Pure functions of their arguments; any thread.
#pragma once

#include "kernels/nn/reduction.h"
#include "kernels/rows/cascade.h"

#include <shunt/elementwise/cast.h>

#include <algorithm>
#include <cstring>

namespace shunt::nn {
namespace {

using reduce::Cascade;
using reduce::kBlock;

/// N x C log-probabilities with N targets and C weights, strides in elements.
struct Likelihoods {
  const std::byte* input;
  const std::byte* target;
  const std::byte* weight = nullptr;  // null: all are one
  bool byte_targets = false;          // else of int64
  int64_t sample_stride = 0, class_stride = 0, target_stride = 0, weight_stride = 0;
  int64_t samples = 1, classes = 0;
  int64_t ignore_index = 0;
};

SHUNT_ALWAYS_INLINE int64_t targetOf(const Likelihoods& b, int64_t i) {
  const int64_t at = i * b.target_stride;
  return b.byte_targets ? reinterpret_cast<const uint8_t*>(b.target)[at]
                        : reinterpret_cast<const int64_t*>(b.target)[at];
}

/// Reads targets and weights. T is the input's element type.
template <class T>
class Reader {
 public:
  using A = opmath_t<T>;
  explicit Reader(const Likelihoods& b) : b_(b) {}

  /// The class of sample i; -1 for one to ignore. Throws when there is no such class.
  int64_t target(int64_t i) const {
    const int64_t t = targetOf(b_, i);
    if (t == b_.ignore_index) return -1;
    SHUNT_CHECK_INDEX(t >= 0 && t < b_.classes, "Target ", t, " is out of bounds. Argument 'target' has it for sample ",
                      i, "; the input has ", b_.classes, " classes, so a target is one of [0, ", b_.classes - 1,
                      "], or ignore_index, ", b_.ignore_index);
    return t;
  }
  A input(int64_t i, int64_t t) const {
    return cast<A>(reinterpret_cast<const T*>(b_.input)[i * b_.sample_stride + t * b_.class_stride]);
  }
  A weight(int64_t t) const {
    if (b_.weight == nullptr) return A(1);
    return cast<A>(reinterpret_cast<const T*>(b_.weight)[t * b_.weight_stride]);
  }

 private:
  const Likelihoods& b_;
};

template <class T>
void forwardEach(const Likelihoods& b, T* out) {
  const Reader<T> read(b);
  for (int64_t i = 0; i < b.samples; ++i) {
    const int64_t t = read.target(i);
    out[i] = t < 0 ? T(0) : cast<T>(-read.input(i, t) * read.weight(t));
  }
}

template <class T>
void forwardReduced(const Likelihoods& b, bool mean, T* out, T* total_weight) {
  using A = opmath_t<T>;
  const Reader<T> read(b);
  const auto block = reduce::reductionLoops<A>(reduce::indexOf<accumulators::Sum>()).block;
  Cascade<A> losses, weights;
  A loss[kBlock], weight[kBlock];
  for (int64_t begin = 0; begin < b.samples; begin += kBlock) {
    const int64_t n = std::min(kBlock, b.samples - begin);
    for (int64_t k = 0; k < n; ++k) {
      const int64_t i = begin + k;
      const int64_t t = read.target(i);
      weight[k] = t < 0 ? A(0) : read.weight(t);
      loss[k] = t < 0 ? A(0) : -read.input(i, t) * weight[k];
    }
    losses.push(block(loss, n, A(0), A(0)));
    weights.push(block(weight, n, A(0), A(0)));
  }
  const A total = weights.result();
  *out = cast<T>(mean ? losses.result() / total : losses.result());
  *total_weight = cast<T>(total);
}

/// The total weight that forwardReduced reports, before it is rounded to T: a 16-bit type does not have all counts.
template <class T>
opmath_t<T> exactTotalWeight(const Likelihoods& b) {
  using A = opmath_t<T>;
  const Reader<T> read(b);
  const auto block = reduce::reductionLoops<A>(reduce::indexOf<accumulators::Sum>()).block;
  Cascade<A> weights;
  A weight[kBlock];
  for (int64_t begin = 0; begin < b.samples; begin += kBlock) {
    const int64_t n = std::min(kBlock, b.samples - begin);
    for (int64_t k = 0; k < n; ++k) {
      const int64_t t = read.target(begin + k);
      weight[k] = t < 0 ? A(0) : read.weight(t);
    }
    weights.push(block(weight, n, A(0), A(0)));
  }
  return weights.result();
}

template <class T>
void backward(const Likelihoods& b, const T* grad, int64_t grad_stride, opmath_t<T> divisor, T* out) {
  using A = opmath_t<T>;
  const Reader<T> read(b);
  if (b.samples * b.classes == 0) return;  // `out` may be null then
  std::memset(static_cast<void*>(out), 0, static_cast<size_t>(b.samples * b.classes) * sizeof(T));
  for (int64_t i = 0; i < b.samples; ++i) {
    const int64_t t = read.target(i);
    if (t >= 0) out[i * b.classes + t] = cast<T>(-(cast<A>(grad[i * grad_stride]) / divisor) * read.weight(t));
  }
}

}  // namespace
}  // namespace shunt::nn
