// smooth_l1_loss and huber_loss: squares of small differences, lines beyond.
#include "generated/native_functions.h"
#include "kernels/common/result.h"
#include "kernels/nn/pointwise_loss.h"
#include "kernels/pointwise/functors/activation.h"

namespace shunt::native {
namespace {

/// What the gradient of one element's loss is multiplied by.
Scalar normOf(const char* op, const Tensor& self, int64_t reduction) {
  implOf(self, op);
  return nn::lossReduction(reduction) == nn::LossReduction::kMean ? 1.0 / static_cast<double>(self.numel()) : 1.0;
}

template <class F>
Tensor gradientOf(const char* op, const Tensor& grad_output, const Tensor& self, const Tensor& target,
                  int64_t reduction, const Scalar& width) {
  const Scalar norm = normOf(op, self, reduction);
  if (!nn::hasShapeOfInput(grad_output, self, target))
    return elementwise::run<F>(op, grad_output, self, target, norm, width);
  Tensor out = newResult(*self.unsafeGetTensorImpl(), self.sizes(), self.scalar_type());
  elementwise::runOut<F>(op, out, grad_output, self, target, norm, width);
  return out;
}

template <class F>
Tensor& gradientInto(const char* op, Tensor& out, const Tensor& grad_output, const Tensor& self, const Tensor& target,
                     int64_t reduction, const Scalar& width) {
  elementwise::runOut<F>(op, out, grad_output, self, target, normOf(op, self, reduction), width);
  return out;
}

Scalar checkedBeta(double beta) {
  SHUNT_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  return beta;
}

Scalar checkedDelta(double delta) {
  SHUNT_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  return delta;
}

}  // namespace

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  return nn::pointwiseLoss<functors::SmoothL1Loss>("smooth_l1_loss", reduction, self, target, checkedBeta(beta));
}
Tensor& smooth_l1_loss_out(const Tensor& self, const Tensor& target, int64_t reduction, double beta, Tensor& out) {
  return nn::pointwiseLossOut<functors::SmoothL1Loss>("smooth_l1_loss", reduction, out, self, target,
                                                      checkedBeta(beta));
}

Tensor smooth_l1_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction,
                               double beta) {
  return gradientOf<functors::SmoothL1LossBackward>("smooth_l1_loss_backward", grad_output, self, target, reduction,
                                                    beta);
}
Tensor& smooth_l1_loss_backward_out(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                    int64_t reduction, double beta, Tensor& grad_input) {
  return gradientInto<functors::SmoothL1LossBackward>("smooth_l1_loss_backward", grad_input, grad_output, self, target,
                                                      reduction, beta);
}

Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  return nn::pointwiseLoss<functors::HuberLoss>("huber_loss", reduction, self, target, checkedDelta(delta));
}
Tensor& huber_loss_out(const Tensor& self, const Tensor& target, int64_t reduction, double delta, Tensor& out) {
  return nn::pointwiseLossOut<functors::HuberLoss>("huber_loss", reduction, out, self, target, checkedDelta(delta));
}

Tensor huber_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction,
                           double delta) {
  return gradientOf<functors::HuberLossBackward>("huber_loss_backward", grad_output, self, target, reduction, delta);
}
Tensor& huber_loss_backward_out(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction,
                                double delta, Tensor& grad_input) {
  return gradientInto<functors::HuberLossBackward>("huber_loss_backward", grad_input, grad_output, self, target,
                                                   reduction, delta);
}

}  // namespace shunt::native
