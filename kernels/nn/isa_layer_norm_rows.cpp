// layer_norm and its gradient along rows of any floating dtype, for one instruction set: a call's whole loop.
#include "kernels/nn/layer_norm.h"
#include "kernels/nn/layer_norm_rows.h"
#include "kernels/rows/rows.h"

namespace shunt::nn {
namespace {

/// n elements as A: in memory, or in `buffer`. Null for null.
template <class A>
SHUNT_ALWAYS_INLINE const A* valuesOf(A* buffer, const std::byte* p, ScalarType dtype, int64_t n) {
  if (p == nullptr || dtype == scalar_type_of<A>) return reinterpret_cast<const A*>(p);
  reduce::loadRow(buffer, p, dtype, n);
  return buffer;
}

template <class A>
void layerNormLoop(const rows::Call& call) {
  const rows::Call c = call;
  const int64_t size = elementSize(c.dtype), statistic = elementSize(c.result);
  const bool own = c.dtype == scalar_type_of<A>;
  constexpr int64_t kLongest = kLongestNorm<A>, kMostRows = 32;
  A buffer[kLongest], weights[kLongest], biases[kLongest], means[kMostRows], rstds[kMostRows];
  const NormForward<A> norm{valuesOf(weights, c.in[1], c.result, c.n),
                            valuesOf(biases, c.in[2], c.result, c.n),
                            means,
                            rstds,
                            c.n,
                            static_cast<A>(c.number)};
  // As many as stay in the L1 cache from pass to pass, or have room in the buffer.
  const int64_t fit = (own ? 2 * kLongest : kLongest) / c.n, together = fit < kMostRows ? fit : kMostRows;
  for (int64_t r = 0; r < c.outer; r += together) {
    const int64_t count = c.outer - r < together ? c.outer - r : together;
    const A* x = valuesOf(buffer, c.in[0] + r * c.n * size, c.dtype, count * c.n);
    std::byte* const out = c.out[0] + r * c.n * size;
    normRows(norm, own ? reinterpret_cast<A*>(out) : buffer, x, count);
    if (!own) reduce::storeRow(out, buffer, c.dtype, count * c.n);
    reduce::storeRow(c.out[1] + r * statistic, means, c.result, count);
    reduce::storeRow(c.out[2] + r * statistic, rstds, c.result, count);
  }
}

template <class A>
void layerNormBackwardLoop(const rows::Call& call) {
  const rows::Call c = call;
  const int64_t size = elementSize(c.dtype), statistic = elementSize(c.result);
  const bool own = c.dtype == scalar_type_of<A>;
  constexpr int64_t kLongest = kLongestNormBackward<A>;  // six of them: the sums have one more
  A grads[kLongest], xs[kLongest], weights[kLongest], weight_grads[kLongest], bias_grads[kLongest], statistics[2];
  for (int64_t i = 0; i < c.n; ++i) weight_grads[i] = bias_grads[i] = 0;
  const NormBackward<A> norm{valuesOf(weights, c.in[4], c.result, c.n), c.out[1] != nullptr ? weight_grads : nullptr,
                             c.out[2] != nullptr ? bias_grads : nullptr, c.n};
  for (int64_t r = 0; r < c.outer; ++r) {
    const A* grad = valuesOf(grads, c.in[0] + r * c.n * size, c.dtype, c.n);
    const A* x = valuesOf(xs, c.in[1] + r * c.n * size, c.dtype, c.n);
    for (int i = 0; i < 2; ++i) reduce::loadRow(&statistics[i], c.in[2 + i] + r * statistic, c.result, 1);
    std::byte* const out = c.out[0] != nullptr ? c.out[0] + r * c.n * size : nullptr;
    A* const to = out == nullptr ? nullptr : own ? reinterpret_cast<A*>(out) : grads;
    normBackwardRow<kLongest>(norm, to, grad, x, statistics[0], statistics[1]);
    if (out != nullptr && !own) reduce::storeRow(out, grads, c.dtype, c.n);
  }
  if (c.out[1] != nullptr) reduce::storeRow(c.out[1], weight_grads, c.result, c.n);
  if (c.out[2] != nullptr) reduce::storeRow(c.out[2], bias_grads, c.result, c.n);
}

}  // namespace

namespace SHUNT_ISA_NAMESPACE {
constinit const NormCalls kNormCalls = {layerNormLoop<float>, layerNormLoop<double>, layerNormBackwardLoop<float>,
                                        layerNormBackwardLoop<double>};

}  // namespace SHUNT_ISA_NAMESPACE
}  // namespace shunt::nn
