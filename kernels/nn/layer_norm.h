// The entries of native_layer_norm and its gradient, and what a thunk puts in their place (kernels/rows/expected.h).
// Operands are the caller's, checked and dense. Any thread.
#pragma once

#include "kernels/rows/expected.h"

namespace shunt::nn {

/// Of `rows` rows with n elements. `out` has x's dtype; the parameters and the statistics are of one dtype, x's or
/// wider. Parameters that are not there, and gradients that are not wanted, are null.
struct Norm {
  const TensorImpl* x;
  const TensorImpl* weight;
  const TensorImpl* bias;
  const TensorImpl* out;
  const TensorImpl* mean;
  const TensorImpl* rstd;
  int64_t rows, n;
  double eps;
};
SHUNT_NOINLINE void layerNorm(const Norm& norm);

struct NormGradient {
  const TensorImpl* grad;
  const TensorImpl* x;
  const TensorImpl* mean;
  const TensorImpl* rstd;
  const TensorImpl* weight;
  const TensorImpl* x_grad;
  const TensorImpl* weight_grad;
  const TensorImpl* bias_grad;
  int64_t rows, n;
};
SHUNT_NOINLINE void layerNormBackward(const NormGradient& gradient);

/// Rows whose part of the parameters' gradients is added up in one go; the parts then in order. Depends on n alone.
inline int64_t rowsOfNormPart(int64_t n) { return std::max<int64_t>(16, kDefaultGrain / std::max<int64_t>(n, 1)); }

/// The same, with the expected loop where the operands are the expected ones.
void layerNormExpected(const Norm& norm);
void layerNormBackwardExpected(const NormGradient& gradient);

/// Where they send other operands: the entries, which may record them.
SHUNT_NOINLINE void layerNormMissed(const Norm& norm, jit::MissCount* misses);
SHUNT_NOINLINE void layerNormBackwardMissed(const NormGradient& gradient, jit::MissCount* misses);

/// Rows that the loops of whole calls take: so long that a loop's buffers, which are on its caller's stack, have at
/// most 16 KiB in all.
template <class A>
inline constexpr int64_t kLongestNorm = (16 << 10) / (4 * int64_t{sizeof(A)});
template <class A>
inline constexpr int64_t kLongestNormBackward = (16 << 10) / (6 * int64_t{sizeof(A)});

/// Loops of whole calls, of tensors whose elements are computed in float and in double.
struct NormCalls {
  rows::LoopFn forward, forward_double, backward, backward_double;
};
#define SHUNT_DECLARE_CALLS(isa)     \
  namespace isa {                    \
  extern const NormCalls kNormCalls; \
  }
SHUNT_DECLARE_CALLS(baseline)
SHUNT_DECLARE_CALLS(v3)
SHUNT_DECLARE_CALLS(v4)
#undef SHUNT_DECLARE_CALLS
/// Those of the instruction set in use.
rows::LoopFn layerNormCall(ScalarType dtype);
/// What its loops are called with where all operands are of `dtype`, but for the rows: those are the caller's.
inline rows::Call normCall(ScalarType dtype, int64_t n, double eps, const void* weight, const void* bias) {
  rows::Call call;
  call.dtype = call.result = dtype;
  call.in[1] = static_cast<const std::byte*>(weight);
  call.in[2] = static_cast<const std::byte*>(bias);
  call.n = n;
  call.number = eps;
  return call;
}
rows::LoopFn layerNormBackwardCall(ScalarType dtype);

}  // namespace shunt::nn
