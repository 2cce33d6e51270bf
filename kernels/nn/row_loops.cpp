// The interpreter's loops along rows, as others run them (row_loop.h).
#include "kernels/nn/layer_norm.h"
#include "kernels/nn/layer_norm_table.h"
#include "kernels/nn/softmax_table.h"
#include "kernels/pointwise/descriptor.h"

#include <shunt/elementwise/row_loop.h>

#include <algorithm>

namespace shunt::elementwise {
namespace {

template <class A>
const A* valuesAt(const std::byte* p) {
  return reinterpret_cast<const A*>(p);
}

template <class A, bool Log>
void softmax(const RowCall& c) {
  nn::softmaxLoops<A>().forward[Log ? 1 : 0](reinterpret_cast<A*>(c.out), valuesAt<A>(c.in), c.rows, c.n);
}

template <class A, bool Log>
void softmaxBackward(const RowCall& c) {
  nn::softmaxLoops<A>().backward[Log ? 1 : 0](reinterpret_cast<A*>(c.out), valuesAt<A>(c.in), valuesAt<A>(c.result),
                                              c.rows, c.n);
}

template <class A>
void layerNormOfCall(const RowCall& c) {
  constexpr int64_t kMost = 64;  // rows whose statistics there is room for
  A statistics[2][kMost];
  rows::Call call = nn::normCall(scalar_type_of<A>, c.n, c.eps, c.weight, c.bias);
  for (int i = 0; i < 2; ++i) call.out[1 + i] = reinterpret_cast<std::byte*>(statistics[i]);
  const rows::LoopFn loop = nn::layerNormCall(scalar_type_of<A>);
  for (int64_t r = 0; r < c.rows; r += kMost) {
    call.in[0] = c.in + r * c.n * int64_t{sizeof(A)};
    call.out[0] = c.out + r * c.n * int64_t{sizeof(A)};
    call.outer = std::min(kMost, c.rows - r);
    loop(call);
  }
}

template <class A>
void layerNorm(const RowCall& c) {
  if (c.n > 0 && c.n <= nn::kLongestNorm<A>) return layerNormOfCall<A>(c);
  A statistics[2];
  const nn::NormForward<A> call{valuesAt<A>(c.weight), valuesAt<A>(c.bias), &statistics[0], &statistics[1], c.n,
                                static_cast<A>(c.eps)};
  const auto loop = nn::normLoops<A>().forward;
  for (int64_t r = 0; r < c.rows; ++r)
    loop(call, reinterpret_cast<A*>(c.out) + r * c.n, valuesAt<A>(c.in) + r * c.n, 0);
}

template <class A>
RowLoopFn loopOf(RowOperator op) {
  switch (op) {
    case RowOperator::kSoftmax:
      return &softmax<A, false>;
    case RowOperator::kLogSoftmax:
      return &softmax<A, true>;
    case RowOperator::kLayerNorm:
      return &layerNorm<A>;
    case RowOperator::kSoftmaxBackward:
      return &softmaxBackward<A, false>;
    case RowOperator::kLogSoftmaxBackward:
      return &softmaxBackward<A, true>;
  }
  return nullptr;
}

}  // namespace

RowLoopFn rowLoop(RowOperator op, ScalarType dtype) {
  if (dtype == ScalarType::Float) return loopOf<float>(op);
  return dtype == ScalarType::Double ? loopOf<double>(op) : nullptr;
}

ParameterLoops parameterLoops(ScalarType dtype) {
  if (rowLoop(RowOperator::kLayerNorm, dtype) == nullptr) return {};
  return {kDescriptor<functors::Mul>.loop(dtype), kDescriptor<functors::Add>.loop(dtype)};
}

}  // namespace shunt::elementwise
