#include "kernels/autograd/formulas.h"

namespace shunt::autograd {
namespace {

constexpr int64_t kReductionNone = 0, kReductionMean = 1;

}  // namespace

// Of g = y (go - sum(go y)) with respect to y.
Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim) {
  const Tensor inner = grad_output.mul(output).sum(IntArrayRef(dim), true);
  const Tensor weight = grad.mul(output).sum(IntArrayRef(dim), true);
  return grad.mul(grad_output.sub(inner)).sub(grad_output.mul(weight));
}

// Of g = go - exp(y) sum(go).
Tensor log_softmax_backward_grad_output(const Tensor& grad, const Tensor& output, int64_t dim) {
  return grad.sub(grad.mul(output.exp()).sum(IntArrayRef(dim), true));
}

Tensor log_softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim) {
  return grad.neg().mul(output.exp()).mul(grad_output.sum(IntArrayRef(dim), true));
}

Tensor mse_loss_gradient(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction) {
  if (self.sizes() == target.sizes()) return mse_loss_backward(grad, self, target, reduction);
  // The operator divides by the elements of its input, the loss by those of the broadcast shape.
  const std::vector<int64_t> sizes = infer_size(self.sizes(), target.sizes());
  return mse_loss_backward(grad, self.expand(sizes), target, reduction);
}

Tensor mse_loss_backward_grad_output(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor each = grad.mul(self.sub(target)).mul(Scalar(2));
  if (reduction == kReductionNone) return each;
  // As the gradient itself: divided by the elements of self, also where a larger target broadcast it.
  return reduction == kReductionMean ? each.sum().div(Scalar(std::max<int64_t>(self.numel(), 1))) : each.sum();
}

Tensor mse_loss_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self, int64_t reduction) {
  const Tensor each = grad.mul(grad_output).mul(Scalar(2));
  return reduction == kReductionMean ? each.div(Scalar(std::max<int64_t>(self.numel(), 1))) : each;
}

Tensor nll_loss_backward_grad_output(const Tensor& grad, const Tensor& target, const std::optional<Tensor>& weight,
                                     int64_t reduction, int64_t ignore_index) {
  // The loss is linear in its input, so this is the loss of `grad`.
  return std::get<0>(nll_loss_forward(grad, target, weight, reduction, ignore_index));
}

}  // namespace shunt::autograd
