// Runs an own matrix product in the place of mm, and compares it with the native one, which inside the handler is only a call.
#pragma once

#include "examples/modes/arguments.h"

#include <algorithm>

namespace examples {

/// The textbook's three loops, with the sum in double. Two matrices of one floating-point dtype, float32 or float64.
template <class T>
shunt::Tensor multiply(const shunt::Tensor& a, const shunt::Tensor& b) {
  const shunt::Tensor x = a.contiguous(), y = b.contiguous();
  const int64_t n = x.size(0), k = x.size(1), m = y.size(1);
  shunt::Tensor out = shunt::empty({n, m}, x.dtype());
  const T *px = x.data_ptr<T>(), *py = y.data_ptr<T>();
  T* po = out.data_ptr<T>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += double{px[i * k + l]} * double{py[l * m + j]};
      po[i * m + j] = static_cast<T>(sum);
    }
  return out;
}

class OwnMatmulMode : public shunt::DispatchMode {
 public:
  std::string name() const override { return "OwnMatmulMode"; }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    if (op.operator_name().str() != "aten::mm") return op.callBoxed(stack);
    const shunt::Tensor a = (*stack)[0].toTensor(), b = (*stack)[1].toTensor();
    const bool mine = a.dtype() == b.dtype() && (a.dtype() == shunt::kFloat || a.dtype() == shunt::kDouble);
    op.callBoxed(stack);  // checks the arguments, and is what the own result is compared with
    if (!mine) return;
    const shunt::Tensor native = (*stack)[0].toTensor();
    const shunt::Tensor own = a.dtype() == shunt::kFloat ? multiply<float>(a, b) : multiply<double>(a, b);
    ++replaced_;
    if (own.numel() > 0) largest_difference_ = std::max(largest_difference_, (own - native).abs().max().item<double>());
    *stack = {own};
  }
  int replaced() const { return replaced_; }
  double largest_difference() const { return largest_difference_; }

 private:
  int replaced_ = 0;
  double largest_difference_ = 0;
};

}  // namespace examples
