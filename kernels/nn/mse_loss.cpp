// The operators mse_loss and mse_loss_backward.
#include "generated/native_functions.h"
#include "kernels/elementwise/functors/activation.h"
#include "kernels/elementwise/run.h"
#include "kernels/factory/result.h"
#include "kernels/nn/reduction.h"

#include <shunt/tensor/expand_utils.h>

namespace shunt::native {

using nn::LossReduction;

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  const LossReduction how = nn::lossReduction(reduction);
  const Tensor squares = elementwise::run<functors::MseLoss>("mse_loss", self, target);
  if (how == LossReduction::kMean) return native::mean(squares, std::nullopt);
  if (how == LossReduction::kSum) return native::sum(squares, std::nullopt);
  return squares;
}

namespace {

Scalar gradientFactor(const Tensor& self, int64_t reduction) {
  return nn::lossReduction(reduction) == LossReduction::kMean ? 2.0 / static_cast<double>(self.numel()) : 2.0;
}

}  // namespace

Tensor& mse_loss_backward_out(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction,
                              Tensor& grad_input) {
  elementwise::runOut<functors::MseLossBackward>("mse_loss_backward", grad_input, grad_output, self, target,
                                                 gradientFactor(self, reduction));
  return grad_input;
}

Tensor mse_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction) {
  const Scalar factor = gradientFactor(self, reduction);
  // The gradient of self is contiguous; a larger target decides on its own.
  if (is_expandable_to(target.sizes(), self.sizes()) && is_expandable_to(grad_output.sizes(), self.sizes())) {
    Tensor out = newResult(*self.unsafeGetTensorImpl(), self.sizes(), self.scalar_type());
    elementwise::runOut<functors::MseLossBackward>("mse_loss_backward", out, grad_output, self, target, factor);
    return out;
  }
  return elementwise::run<functors::MseLossBackward>("mse_loss_backward", grad_output, self, target, factor);
}

}  // namespace shunt::native
