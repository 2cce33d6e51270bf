// layer_norm as a thunk runs it: for the operands that its plan expects (Note [Expected operands] in
// pointwise/expected.h).
#include "kernels/nn/layer_norm.h"

namespace shunt::nn {
namespace {

/// For longer rows the interpreter's loop is as good.
SHUNT_ALWAYS_INLINE bool fits(int64_t rows, int64_t n, int64_t longest) {
  return rows > 0 && n > 0 && n <= longest && rows * n <= kDefaultGrain;
}

/// Of a parameter: null only if the record says that there is none, so that the loop is made for one case.
SHUNT_ALWAYS_INLINE const std::byte* parameter(const TensorImpl* t, int input, ScalarType type) {
  if (rows::kExpected.signature[input] == 0) return nullptr;
  const std::byte* p = rows::dataOf(t, type);
  __builtin_assume(p != nullptr);
  return p;
}

SHUNT_ALWAYS_INLINE bool isLike(const TensorImpl* t, ScalarType dtype) { return t == nullptr || t->dtype() == dtype; }

}  // namespace

void layerNormExpected(const Norm& c) {
  const ScalarType dtype = rows::expectedDtype(0);
  // Without parameters the statistics are of the input's dtype.
  const int widest = rows::kExpected.signature[1] != 0 ? 1 : rows::kExpected.signature[2] != 0 ? 2 : 0;
  const ScalarType type = rows::expectedDtype(widest);
  const bool parameters = rows::isExpectedOrAbsent(c.weight, 1) && rows::isExpectedOrAbsent(c.bias, 2);
  const int64_t longest = dtype == kDouble ? kLongestNorm<double> : kLongestNorm<float>;
  if (!rows::isExpected(c.x, 0) || !parameters || !isLike(c.mean, type) || !fits(c.rows, c.n, longest)) [[unlikely]]
    return layerNormMissed(c, ::shunt::detail::plannedMisses());
  rows::Call call;
  call.dtype = dtype;
  call.result = type;
  call.in[0] = rows::dataOf(c.x, dtype);
  call.in[1] = parameter(c.weight, 1, type);
  call.in[2] = parameter(c.bias, 2, type);
  call.out[0] = rows::dataOf(c.out, dtype);
  call.out[1] = rows::dataOf(c.mean, type);
  call.out[2] = rows::dataOf(c.rstd, type);
  call.outer = c.rows;
  call.n = c.n;
  call.number = c.eps;
  rows::expectedLoop(call);
}

void layerNormBackwardExpected(const NormGradient& c) {
  const ScalarType dtype = rows::expectedDtype(0), type = rows::expectedDtype(2);
  const bool expected = rows::isExpected(c.grad, 0) && rows::isExpected(c.x, 1) && rows::isExpected(c.mean, 2) &&
                        rows::isExpected(c.rstd, 3) && rows::isExpectedOrAbsent(c.weight, 4);
  const int64_t longest = dtype == kDouble ? kLongestNormBackward<double> : kLongestNormBackward<float>;
  if (!expected || !isLike(c.bias_grad, type) || !fits(c.rows, c.n, longest)) [[unlikely]]
    return layerNormBackwardMissed(c, ::shunt::detail::plannedMisses());
  rows::Call call;
  call.dtype = dtype;
  call.result = type;
  const TensorImpl* const in[] = {c.grad, c.x, c.mean, c.rstd};
  for (int i = 0; i < 4; ++i) call.in[i] = rows::dataOf(in[i], i < 2 ? dtype : type);
  call.in[4] = parameter(c.weight, 4, type);
  call.out[0] = rows::dataOf(c.x_grad, dtype);
  call.out[1] = rows::dataOf(c.weight_grad, type);
  call.out[2] = rows::dataOf(c.bias_grad, type);
  call.outer = c.rows;
  call.n = c.n;
  rows::expectedLoop(call);
}

}  // namespace shunt::nn
