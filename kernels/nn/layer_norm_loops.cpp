// layer_norm and its gradient on memory, as others run them (shunt/elementwise/layer_norm.h).
#include "kernels/nn/layer_norm.h"
#include "kernels/nn/layer_norm_table.h"

#include <shunt/core/parallel.h>
#include <shunt/elementwise/layer_norm.h>

#include <algorithm>

namespace shunt::elementwise {
namespace {

template <class A>
A* as(std::byte* p) {
  return reinterpret_cast<A*>(p);
}
template <class A>
const A* as(const std::byte* p) {
  return reinterpret_cast<const A*>(p);
}

/// A parameter's gradient, to be added to. Null for null.
template <class A>
A* zeros(std::byte* p, int64_t n) {
  if (p != nullptr) std::fill_n(as<A>(p), n, A(0));
  return as<A>(p);
}

}  // namespace

bool LayerNorm::isTaken() const {
  const bool is_float = dtype == ScalarType::Float;
  if ((!is_float && dtype != ScalarType::Double) || rows <= 0 || n <= 0) return false;
  const int64_t longest = is_float ? nn::kLongestNorm<float> : nn::kLongestNorm<double>;
  return n <= longest && rows * n <= kDefaultGrain && rows <= nn::rowsOfNormPart(n);
}

void LayerNorm::forward(const std::byte* in, const std::byte* weight, const std::byte* bias, std::byte* out,
                        std::byte* mean, std::byte* rstd) const {
  rows::Call call = nn::normCall(dtype, n, eps, weight, bias);
  call.in[0] = in;
  call.out[0] = out;
  call.out[1] = mean;
  call.out[2] = rstd;
  call.outer = rows;
  nn::layerNormCall(dtype)(call);
}

void LayerNorm::backward(const std::byte* grad, const std::byte* in, const std::byte* mean, const std::byte* rstd,
                         const std::byte* weight, std::byte* in_grad, std::byte* weight_grad,
                         std::byte* bias_grad) const {
  const auto run = [&]<class A>(A) {
    const nn::NormBackward<A> call{as<A>(weight), zeros<A>(weight_grad, n), zeros<A>(bias_grad, n), n};
    const auto loop = nn::normLoops<A>().backward;
    for (int64_t r = 0; r < rows; ++r)
      loop(call, in_grad != nullptr ? as<A>(in_grad) + r * n : nullptr, as<A>(grad) + r * n, as<A>(in) + r * n,
           as<A>(mean)[r], as<A>(rstd)[r]);
  };
  dtype == ScalarType::Float ? run(0.0F) : run(0.0);
}

}  // namespace shunt::elementwise
