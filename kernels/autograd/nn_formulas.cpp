// Gradients of softmax, layer_norm and the losses: formulas.h.
#include "kernels/autograd/formulas.h"

#include <shunt/core/tls.h>

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

namespace {

Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : a.add(b); }

/// A layer_norm's rows: what the linear map from the gradient of y to that of x is made of.
struct NormRows {
  std::vector<int64_t> dims;  // the normalized ones
  std::vector<int64_t> outer;
  Tensor y, rstd;

  NormRows(const Tensor& input, size_t row_dims, const Tensor& mean_, const Tensor& rstd_) : rstd(rstd_) {
    for (int64_t d = 0; d < input.dim(); ++d)
      (d < input.dim() - static_cast<int64_t>(row_dims) ? outer : dims).push_back(d);
    Tensor centred = input.sub(mean_);
    if (GradMode::is_enabled() && input.requires_grad()) {
      // To be differentiated again: then as functions of the input. What was added to the variance follows from rstd.
      centred = input.sub(mean(input));
      const Tensor variance = mean(centred.mul(centred));
      const Tensor eps = rstd.mul(rstd).reciprocal().sub(variance).detach();
      rstd = variance.add(eps).rsqrt();
    }
    y = centred.mul(rstd);
  }
  Tensor mean(const Tensor& t) const { return t.mean(IntArrayRef(dims), true); }
  /// Its own transpose.
  Tensor project(const Tensor& g) const { return g.sub(mean(g)).sub(y.mul(mean(g.mul(y)))).mul(rstd); }
  /// To the parameters' shape.
  Tensor sumOfRows(const Tensor& t) const { return outer.empty() ? t : t.sum(IntArrayRef(outer), false); }
};

}  // namespace

// The results are P(g), the sum of go * y over rows, and the sum of go; with g = go * weight, y = (x - mean) * rstd and
// the map P(g) = rstd * (g - mean(g) - y * mean(g * y)). Through y and rstd x changes y by P and rstd by -rstd^2 * y /
// n.
std::tuple<Tensor, Tensor, Tensor> layer_norm_double_backward(ArrayRef<Tensor> grads, const Tensor& grad_out,
                                                              const Tensor& input, IntArrayRef normalized_shape,
                                                              const Tensor& mean, const Tensor& rstd,
                                                              const std::optional<Tensor>& weight,
                                                              std::array<bool, 3> mask) {
  const NormRows rows(input, normalized_shape.size(), mean, rstd);
  const bool weighted = weight && weight->defined();
  const auto scaled = [&](const Tensor& t) { return weighted ? t.mul(*weight) : t; };
  const Tensor &of_input = grads[0], &of_weight = grads[1], &of_bias = grads[2];
  Tensor to_input, to_weight, to_grad, to_y;
  const Tensor g = scaled(grad_out);
  if (of_weight.defined()) {
    to_y = grad_out.mul(of_weight);
    to_grad = rows.y.mul(of_weight);
  }
  if (of_bias.defined()) to_grad = plus(to_grad, of_bias.expand(grad_out.sizes()));
  if (of_input.defined()) {
    const Tensor projected = rows.project(of_input);
    to_grad = plus(to_grad, scaled(projected));
    if (mask[1] && weighted) to_weight = rows.sumOfRows(grad_out.mul(projected));
    const Tensor through_y =
        of_input.mul(rows.mean(g.mul(rows.y))).add(g.mul(rows.mean(of_input.mul(rows.y)))).mul(rows.rstd).neg();
    to_y = plus(to_y, through_y);
    to_input = rows.y.mul(rows.rstd).mul(rows.mean(of_input.mul(rows.project(g)))).neg();
  }
  if (mask[0] && to_y.defined()) to_input = plus(to_input, rows.project(to_y));
  return {to_input, to_weight, to_grad};
}

namespace {

/// backward(the gradient, self in the loss's shape): the operator divides by the elements of its input, the loss by
/// those of the broadcast shape.
template <class Backward>
Tensor lossGradient(const Tensor& self, const Tensor& target, const Backward& backward) {
  if (self.sizes() == target.sizes()) return backward(self);
  return backward(self.expand(infer_size(self.sizes(), target.sizes())));
}

/// With respect to a loss's gradient, of what backward(that gradient) is linear in.
template <class Backward>
Tensor lossBackwardGradOutput(const Tensor& grad, int64_t reduction, const Backward& backward) {
  if (reduction == kReductionNone) return backward(grad);
  const Tensor wide = in_compute_type(grad);
  return backward(ones({}, wide.options())).mul(wide).sum();
}

/// As the gradient itself: divided by the elements of self, also where a larger target broadcast it.
Tensor meanOrAll(const Tensor& each, const Tensor& self, int64_t reduction) {
  if (reduction != kReductionMean) return each;
  return in_compute_type(each).div(Scalar(std::max<int64_t>(self.numel(), 1)));
}

}  // namespace

Tensor mse_loss_gradient(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction) {
  return lossGradient(self, target, [&](const Tensor& x) { return mse_loss_backward(grad, x, target, reduction); });
}

Tensor mse_loss_backward_grad_output(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor each = in_compute_type(grad).mul(self.sub(target)).mul(Scalar(2));
  return reduction == kReductionNone ? each : meanOrAll(each.sum(), self, reduction);
}

Tensor mse_loss_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self, int64_t reduction) {
  return meanOrAll(in_compute_type(grad).mul(grad_output).mul(Scalar(2)), self, reduction);
}

Tensor smooth_l1_loss_gradient(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                               double beta) {
  return lossGradient(self, target,
                      [&](const Tensor& x) { return smooth_l1_loss_backward(grad, x, target, reduction, beta); });
}

Tensor smooth_l1_loss_backward_grad_output(const Tensor& grad, const Tensor& self, const Tensor& target,
                                           int64_t reduction, double beta) {
  return lossBackwardGradOutput(grad, reduction, [&](const Tensor& g) {
    return smooth_l1_loss_backward(g, in_compute_type(self), in_compute_type(target), reduction, beta);
  });
}

Tensor smooth_l1_loss_double_backward(const Tensor& grads, const Tensor& self, const Tensor& target, int64_t reduction,
                                      double beta) {
  if (beta == 0) return zeros_like(grads);  // lines only
  const Tensor beyond = self.sub(target).abs().lt(beta).logical_not();
  return meanOrAll(zero_where(beyond, grads.div(beta)), self, reduction);
}

Tensor huber_loss_gradient(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                           double delta) {
  return lossGradient(self, target,
                      [&](const Tensor& x) { return huber_loss_backward(grad, x, target, reduction, delta); });
}

Tensor huber_loss_backward_grad_output(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                                       double delta) {
  return lossBackwardGradOutput(grad, reduction, [&](const Tensor& g) {
    return huber_loss_backward(g, in_compute_type(self), in_compute_type(target), reduction, delta);
  });
}

Tensor huber_loss_double_backward(const Tensor& grads, const Tensor& self, const Tensor& target, int64_t reduction,
                                  double delta) {
  const Tensor beyond = self.sub(target).abs().lt(delta).logical_not();
  return meanOrAll(zero_where(beyond, grads), self, reduction);
}

Tensor nll_loss_backward_grad_output(const Tensor& grad, const Tensor& target, const std::optional<Tensor>& weight,
                                     int64_t reduction, int64_t ignore_index) {
  // The loss is linear in its input, so this is the loss of `grad`.
  return std::get<0>(nll_loss_forward(grad, target, weight, reduction, ignore_index));
}

}  // namespace shunt::autograd
