// The operators mse_loss and mse_loss_backward.
#include "generated/native_functions.h"
#include "kernels/common/result.h"
#include "kernels/common/view_util.h"
#include "kernels/nn/pointwise_loss.h"
#include "kernels/pointwise/functors/activation.h"
#include "kernels/pointwise/functors/arithmetic.h"

namespace shunt::native {

using nn::LossReduction;

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return nn::pointwiseLoss<functors::MseLoss>("mse_loss", reduction, self, target);
}

Tensor& mse_loss_out(const Tensor& self, const Tensor& target, int64_t reduction, Tensor& out) {
  return nn::pointwiseLossOut<functors::MseLoss>("mse_loss", reduction, out, self, target);
}

namespace {

Scalar gradientFactor(const Tensor& self, int64_t reduction) {
  return nn::lossReduction(reduction) == LossReduction::kMean ? 2.0 / static_cast<double>(self.numel()) : 2.0;
}

/// Operands of one integer dtype compute in it, and the factor is cut to it: 0 under reduction mean from three elements
/// on.
bool isIntegral(const Tensor& grad_output, const Tensor& self, const Tensor& target) {
  const auto dtype = implOf(self, "mse_loss_backward", "self").dtype();
  return isIntegralType(dtype, false) && implOf(grad_output, "mse_loss_backward", "grad_output").dtype() == dtype &&
         implOf(target, "mse_loss_backward", "target").dtype() == dtype;
}

Tensor scaledDifference(const Tensor& self, const Tensor& target, const Scalar& factor) {
  const Tensor difference = elementwise::run<functors::Sub>("mse_loss_backward", self, target, Scalar(1));
  return elementwise::run<functors::Mul>("mse_loss_backward", difference, Scalar(factor.to<int64_t>()));
}

}  // namespace

Tensor& mse_loss_backward_out(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction,
                              Tensor& grad_input) {
  const Scalar factor = gradientFactor(self, reduction);
  if (isIntegral(grad_output, self, target))
    elementwise::runOut<functors::Mul>("mse_loss_backward", grad_input, scaledDifference(self, target, factor),
                                       grad_output);
  else
    elementwise::runOut<functors::MseLossBackward>("mse_loss_backward", grad_input, grad_output, self, target, factor);
  return grad_input;
}

Tensor mse_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction) {
  if (nn::hasShapeOfInput(grad_output, self, target)) {
    Tensor out = newResult(*self.unsafeGetTensorImpl(), self.sizes(), self.scalar_type());
    return mse_loss_backward_out(grad_output, self, target, reduction, out);
  }
  const Scalar factor = gradientFactor(self, reduction);
  if (isIntegral(grad_output, self, target))
    return elementwise::run<functors::Mul>("mse_loss_backward", scaledDifference(self, target, factor), grad_output);
  return elementwise::run<functors::MseLossBackward>("mse_loss_backward", grad_output, self, target, factor);
}

}  // namespace shunt::native
