// Gradients of convolutions, batch_norm and pooling: formulas.h.
#include "kernels/autograd/formulas.h"

#include <shunt/core/tls.h>

#include <algorithm>

namespace shunt::autograd {
namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;

Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : a.add(b); }

}  // namespace

Three convolution_gradients(const Tensor& grad, const Tensor& input, const Tensor& weight, IntArrayRef stride,
                            IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                            int64_t groups, std::array<bool, 3> mask) {
  const int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  return convolution_backward(grad, input, weight, IntArrayRef(channels), stride, padding, dilation, transposed,
                              output_padding, groups, mask);
}

// A convolution is linear in its input and in its weights, so its gradients are linear in each of their arguments, and
// every term is the operator itself with one argument replaced.
Three convolution_double_backward(ArrayRef<Tensor> grads, const Tensor& grad_output, const Tensor& input,
                                  const Tensor& weight, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                  bool transposed, IntArrayRef output_padding, int64_t groups,
                                  std::array<bool, 3> mask) {
  const auto convolved = [&](const Tensor& x, const Tensor& w) {
    return convolution(x, w, {}, stride, padding, dilation, transposed, output_padding, groups);
  };
  const auto gradients = [&](const Tensor& x, const Tensor& w, std::array<bool, 3> wanted) {
    return convolution_backward(grad_output, x, w, {}, stride, padding, dilation, transposed, output_padding, groups,
                                wanted);
  };
  const Tensor &of_input = grads[0], &of_weight = grads[1], &of_bias = grads[2];
  Tensor to_grad, to_input, to_weight;
  if (mask[0]) {
    if (of_input.defined()) to_grad = convolved(of_input, weight);
    if (of_weight.defined()) to_grad = plus(to_grad, convolved(input, of_weight));
    if (of_bias.defined()) {
      std::vector<int64_t> shape(static_cast<size_t>(grad_output.dim()), 1);
      shape[1] = of_bias.numel();
      to_grad = plus(to_grad, of_bias.reshape(shape).expand(grad_output.sizes()));
    }
  }
  if (mask[1] && of_weight.defined()) to_input = std::get<0>(gradients(input, of_weight, {true, false, false}));
  if (mask[2] && of_input.defined()) to_weight = std::get<1>(gradients(of_input, weight, {false, true, false}));
  return {to_grad, to_input, to_weight};
}

namespace {

/// A batch_norm's channels: what the linear map from the gradient of y to that of x is made of.
struct NormChannels {
  std::vector<int64_t> dims = {0};  // all but the channels
  std::vector<int64_t> shape;       // of one element a channel, to broadcast
  bool train;
  Tensor y, invstd;

  NormChannels(const Tensor& input, const Tensor& mean_, const Tensor& variance, bool train_, double eps)
      : shape(static_cast<size_t>(input.dim()), 1), train(train_) {
    for (int64_t d = 2; d < input.dim(); ++d) dims.push_back(d);
    shape[1] = input.size(1);
    Tensor centred = input.sub(beside(mean_));
    invstd = beside(train ? variance : variance.add(eps).rsqrt());
    if (train && GradMode::is_enabled() && input.requires_grad()) {
      // To be differentiated again: then as functions of the input. What was added to the variance follows from invstd.
      centred = input.sub(mean(input));
      const Tensor squares = mean(centred.mul(centred));
      invstd = squares.add(invstd.mul(invstd).reciprocal().sub(squares).detach()).rsqrt();
    }
    y = centred.mul(invstd);
  }
  Tensor beside(const Tensor& vector) const { return vector.reshape(shape); }
  Tensor mean(const Tensor& t) const { return t.mean(IntArrayRef(dims), true); }
  /// Its own transpose.
  Tensor project(const Tensor& g) const {
    return train ? g.sub(mean(g)).sub(y.mul(mean(g.mul(y)))).mul(invstd) : g.mul(invstd);
  }
  Tensor sum(const Tensor& t) const { return t.sum(IntArrayRef(dims), false); }
};

}  // namespace

// As layer_norm_double_backward, with channels for rows: the results are P(g), the sum of go * y, and the sum of go;
// with g = go * weight, y = (x - mean) * invstd and the map P(g) = invstd * (g - mean(g) - y * mean(g * y)). Through y
// and invstd x changes y by P and invstd by -invstd^2 * y / n. With running statistics y is linear in x and P(g) =
// invstd * g.
Three batch_norm_double_backward(ArrayRef<Tensor> grads, const Tensor& grad_out, const Tensor& input,
                                 const std::optional<Tensor>& weight, const std::optional<Tensor>& running_mean,
                                 const std::optional<Tensor>& running_var, const std::optional<Tensor>& save_mean,
                                 const std::optional<Tensor>& save_invstd, bool train, double eps,
                                 std::array<bool, 3> mask) {
  const NormChannels c(input, train ? *save_mean : *running_mean, train ? *save_invstd : *running_var, train, eps);
  const bool weighted = weight && weight->defined();
  const auto scaled = [&](const Tensor& t) { return weighted ? t.mul(c.beside(*weight)) : t; };
  const Tensor &of_input = grads[0], &of_weight = grads[1], &of_bias = grads[2];
  Tensor to_input, to_weight, to_grad, to_y;
  const Tensor g = scaled(grad_out);
  if (of_weight.defined()) {
    to_y = grad_out.mul(c.beside(of_weight));
    to_grad = c.y.mul(c.beside(of_weight));
  }
  if (of_bias.defined()) to_grad = plus(to_grad, c.beside(of_bias).expand(grad_out.sizes()));
  if (of_input.defined()) {
    const Tensor projected = c.project(of_input);
    to_grad = plus(to_grad, scaled(projected));
    if (mask[1] && weighted) to_weight = c.sum(grad_out.mul(projected));
    if (train) {
      const Tensor through_y =
          of_input.mul(c.mean(g.mul(c.y))).add(g.mul(c.mean(of_input.mul(c.y)))).mul(c.invstd).neg();
      to_y = plus(to_y, through_y);
      to_input = c.y.mul(c.invstd).mul(c.mean(of_input.mul(c.project(g)))).neg();
    }
  }
  if (mask[0] && to_y.defined()) to_input = plus(to_input, c.project(to_y));
  return {to_input, to_weight, to_grad};
}

Tensor max_pool_double_backward(const Tensor& grad, const Tensor& indices, IntArrayRef dilation) {
  if (indices.numel() == 0) return zeros(indices.sizes(), grad.options());
  const bool dilated = std::any_of(dilation.begin(), dilation.end(), [](int64_t d) { return d != 1; });
  const Tensor at = dilated ? indices.clamp_min(0) : indices;
  const Tensor chosen = grad.flatten(-2, -1).gather(-1, at.flatten(-2, -1)).view(indices.sizes());
  return dilated ? zero_where(indices.lt(0), chosen) : chosen;
}

}  // namespace shunt::autograd
