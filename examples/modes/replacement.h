// Runs a matrix product of its own in the place of mm, and compares it with the native one, which inside the handler is
// only a call. It stands at kKernel, in the native kernel's place: the operator keeps its derivative, so a model trains
// with it, and under autocast it gets and returns the lower precision.
#pragma once

#include "examples/modes/arguments.h"

#include <algorithm>
#include <cmath>

namespace examples {

/// The textbook's three loops, with the sum in double. Two matrices on the CPU, of one floating-point dtype T.
template <class T>
shunt::Tensor multiply(const shunt::Tensor& a, const shunt::Tensor& b) {
  const shunt::Tensor x = a.contiguous(), y = b.contiguous();
  const int64_t n = x.size(0), k = x.size(1), m = y.size(1);
  shunt::Tensor out = shunt::empty({n, m}, x.options());
  const T *px = x.data_ptr<T>(), *py = y.data_ptr<T>();
  T* po = out.data_ptr<T>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += static_cast<double>(px[i * k + l]) * static_cast<double>(py[l * m + j]);
      po[i * m + j] = static_cast<T>(sum);
    }
  return out;
}

class OwnMatmulMode : public shunt::DispatchMode {
 public:
  std::string name() const override { return "OwnMatmulMode"; }
  Level level() const override { return Level::kKernel; }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    if (op.operator_name().str() != "aten::mm") return op.callBoxed(stack);
    const shunt::Tensor a = (*stack)[0].toTensor(), b = (*stack)[1].toTensor();
    op.callBoxed(stack);  // checks the arguments, and is what the result below is compared with
    const shunt::Tensor native = (*stack)[0].toTensor();
    if (!native.is_cpu()) return;  // shapes only, or another device
    if (a.dtype() == shunt::kFloat)
      replace<float>(stack, a, b, native, 0x1p-23);
    else if (a.dtype() == shunt::kDouble)
      replace<double>(stack, a, b, native, 0x1p-52);
    else if (a.dtype() == shunt::kBFloat16)
      replace<shunt::BFloat16>(stack, a, b, native, 0x1p-7);
  }
  int replaced() const { return replaced_; }
  /// The largest difference from a native result, in units of the dtype's precision at that result's largest element.
  double largest_error() const { return largest_error_; }

 private:
  template <class T>
  void replace(shunt::Stack* stack, const shunt::Tensor& a, const shunt::Tensor& b, const shunt::Tensor& native,
               double precision) {
    const shunt::Tensor own = multiply<T>(a, b);
    ++replaced_;
    *stack = {own};
    if (own.numel() == 0) return;
    const shunt::Tensor expected = native.to(shunt::kDouble);
    const double error = (own.to(shunt::kDouble) - expected).abs().max().item<double>();
    const double unit = precision * expected.abs().max().item<double>();
    if (error > 0) largest_error_ = std::max(largest_error_, error / unit);
  }

  int replaced_ = 0;
  double largest_error_ = 0;
};

}  // namespace examples
