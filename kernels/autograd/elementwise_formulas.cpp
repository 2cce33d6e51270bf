// Gradients of elementwise operators that are more than one expression: formulas.h.
#include "kernels/autograd/formulas.h"

#include <shunt/elementwise/math/log.h>

#include <limits>
#include <numbers>

namespace shunt::autograd {
namespace {

constexpr double kTwoOverSqrtPi = std::numbers::inv_sqrtpi * 2;
constexpr double kInvSqrt2Pi = std::numbers::inv_sqrtpi / std::numbers::sqrt2;

/// Beyond, derivatives of erf and gelu are 0 in every type, and those of silu beyond kFarOfSilu. Powers of what is cut
/// there are finite, so that no 0 * inf is made of them.
constexpr double kFar = 40, kFarOfSilu = 1000;

Tensor within(const Tensor& t, double bound) { return t.clamp(Scalar(-bound), Scalar(bound)); }

bool isZero(const Scalar& s) { return s.toDouble() == 0; }
bool isOne(const Scalar& s) { return s.toDouble() == 1; }

Tensor zeroLike(const Tensor& t) { return zeros({}, t.options()); }

// s - 1 in the scalar's own type.
Scalar minusOne(const Scalar& s) { return s.isFloatingPoint() ? Scalar(s.toDouble() - 1) : Scalar(s.toLong() - 1); }

}  // namespace

Tensor maybe_multiply(const Tensor& t, const Scalar& s) { return isOne(s) ? t : t.mul(s); }

Tensor zero_where(const Tensor& mask, const Tensor& t) { return where(mask, zeroLike(t), t); }

Tensor in_compute_type(const Tensor& t) {
  return t.scalar_type() == kHalf || t.scalar_type() == kBFloat16 ? t.to(kFloat) : t;
}

Tensor div_tensor_self_backward(const Tensor& grad, const Tensor& other,
                                std::optional<std::string_view> rounding_mode) {
  return rounding_mode ? zeros_like(grad) : grad.div(other);
}

Tensor div_tensor_other_backward(const Tensor& grad, const Tensor& self, const Tensor& other,
                                 std::optional<std::string_view> rounding_mode) {
  // (self / other) / other: other * other may overflow where the quotient does not.
  return rounding_mode ? zeros_like(grad) : grad.neg().mul(self.div(other).div(other));
}

Tensor pow_backward(const Tensor& grad, const Tensor& self, const Scalar& exponent) {
  if (isZero(exponent)) return zeros_like(self);
  return grad.mul(self.pow(minusOne(exponent)).mul(exponent));
}

Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Tensor& exponent) {
  const Tensor slope = exponent.mul(self.pow(exponent.sub(Scalar(1))));
  return zero_where(exponent.eq(Scalar(0)), grad.mul(slope));
}

// 0 ** e is flat in e for e >= 0. There the logarithm is taken of 1, so that no 0 * inf gets into second derivatives.
Tensor pow_backward_exponent(const Tensor& grad, const Tensor& self, const Tensor& exponent, const Tensor& result) {
  const Tensor flat = self.eq(Scalar(0)).logical_and(exponent.ge(Scalar(0)));
  return grad.mul(result.mul(where(flat, ones({}, self.options()), self).log()));
}

Tensor pow_backward_exponent(const Tensor& grad, const Scalar& self, const Tensor& exponent, const Tensor& result) {
  if (!isZero(self)) return grad.mul(result.mul(Scalar(math::log(self.toDouble()))));
  const Tensor base = where(exponent.ge(Scalar(0)), ones({}, result.options()), zeros({}, result.options()));
  return grad.mul(result.mul(base.log()));
}

Tensor erf_backward(const Tensor& grad, const Tensor& self) {
  const Tensor x = within(self, kFar);
  return grad.mul(x.mul(x).neg().exp().mul(Scalar(kTwoOverSqrtPi)));
}

Tensor logit_backward(const Tensor& grad, const Tensor& self, std::optional<double> eps) {
  const double low = eps && *eps >= 0 ? *eps : 0.0;
  const Tensor outside = self.lt(Scalar(low)).logical_or(self.gt(Scalar(1 - low)));
  const Tensor slope = grad.div(self.mul(self.neg().add(Scalar(1))));
  if (eps && *eps >= 0) return zero_where(outside, slope);
  return where(outside, full({}, std::numeric_limits<double>::quiet_NaN(), slope.options()), slope);
}

Tensor sinc_backward(const Tensor& grad, const Tensor& self) {
  const Tensor angle = self.mul(Scalar(math::kPi));
  const Tensor slope = angle.mul(angle.cos()).sub(angle.sin()).div(angle.mul(self));
  return zero_where(angle.mul(self).eq(Scalar(0)), grad.mul(slope));
}

Tensor atan2_backward(const Tensor& grad, const Tensor& leg, const Tensor& squares) {
  return zero_where(squares.eq(Scalar(0)), grad.mul(leg.div(squares)));
}

Tensor copysign_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  return zero_where(self.eq(Scalar(0)), grad.mul(result.div(self)));
}

// nan is inside no range: it gets no gradient.
template <class Bound>
static Tensor insideOnly(const Tensor& grad, const Tensor& self, const Bound& min, const Bound& max) {
  if (!min && !max) return grad;
  if (!max) return zero_where(self.ge(*min).logical_not(), grad);
  const Tensor below = self.le(*max);
  return zero_where((min ? below.logical_and(self.ge(*min)) : below).logical_not(), grad);
}

Tensor clamp_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& min,
                      const std::optional<Scalar>& max) {
  return insideOnly(grad, self, min, max);
}

Tensor clamp_backward(const Tensor& grad, const Tensor& self, const std::optional<Tensor>& min,
                      const std::optional<Tensor>& max) {
  return insideOnly(grad, self, min, max);
}

std::tuple<Tensor, Tensor> clamp_backward_min_max(const Tensor& grad, const Tensor& self,
                                                  const std::optional<Tensor>& min, const std::optional<Tensor>& max,
                                                  std::array<bool, 2> grad_input_mask) {
  std::tuple<Tensor, Tensor> result;
  const auto masked = [&](const Tensor& chosen) { return where(chosen, grad, zeroLike(grad)); };
  // Where the bounds cross, max wins.
  if (min && grad_input_mask[0])
    std::get<0>(result) = masked(max ? self.lt(*min).logical_and(min->lt(*max)) : self.lt(*min));
  if (max && grad_input_mask[1])
    std::get<1>(result) = masked(min ? self.gt(*max).logical_or(max->lt(*min)) : self.gt(*max));
  return result;
}

Tensor scale_gradient_backward(const Tensor& grad, const Tensor& scale) {
  return _scale_gradient(grad.mul(scale), scale.reciprocal());
}

Tensor selected_backward(const Tensor& grad, const Tensor& loses, const Tensor& equal) {
  return zero_where(loses, where(equal, grad.mul(Scalar(0.5)), grad));
}

Tensor lerp_self_backward(const Tensor& grad, const Scalar& weight) { return grad.mul(Scalar(1 - weight.toDouble())); }

Tensor addcdiv_tensor2_backward(const Tensor& grad, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
  return grad.neg().mul(maybe_multiply(tensor1.div(tensor2).div(tensor2), value));
}

Tensor softplus_double_backward(const Tensor& grad, const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  // beta s (1 - s), s = sigmoid(beta x); from the threshold on softplus is a line
  const Tensor scaled = self.mul(beta);
  return zero_where(scaled.ge(threshold), sigmoid_backward(grad, scaled.sigmoid()).mul(beta));
}

Tensor sigmoid_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output) {
  // d/dy of y (1 - y)
  return grad.mul(grad_output).mul(output.mul(Scalar(-2)).add(Scalar(1)));
}

Tensor tanh_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output) {
  return grad.mul(
      output.mul(Scalar(-2)).mul(grad_output));  // a small output before a large gradient: no overflow between
}

Tensor elu_double_backward(const Tensor& grad, const Tensor& grad_output, const Scalar& alpha, const Scalar& scale,
                           const Scalar& input_scale, bool is_result, const Tensor& self_or_result) {
  const Tensor both = grad.mul(grad_output).mul(input_scale), positive = self_or_result.lt(0).logical_not();
  if (is_result) return zero_where(positive, both);
  return zero_where(positive, elu_backward(both, alpha, scale, input_scale, false, self_or_result));
}

Tensor silu_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self) {
  // silu = x s;  silu' = s (1 + x (1 - s));  silu'' = s (1 - s) (2 + x (1 - 2 s))
  const Tensor x = within(in_compute_type(self), kFarOfSilu);
  const Tensor s = x.sigmoid();
  const Tensor ds = s.mul(s.neg().add(Scalar(1)));
  return grad.mul(grad_output).mul(ds.mul(x.mul(s.mul(Scalar(-2)).add(Scalar(1))).add(Scalar(2))));
}

Tensor gelu_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self,
                            std::string_view approximate) {
  const Tensor both = grad.mul(grad_output);
  const Tensor x = within(in_compute_type(self), kFar);
  const Tensor squared = x.mul(x);
  if (approximate == "none") {
    // gelu'' = (2 - x^2) pdf(x)
    const Tensor pdf = squared.mul(Scalar(-0.5)).exp().mul(Scalar(kInvSqrt2Pi));
    return both.mul(pdf.mul(squared.neg().add(Scalar(2))));
  }
  // gelu = x (1 + tanh u) / 2 with u = b (x + c x^3);  gelu'' = (1 - t^2) (u' + x (u'' / 2 - t u'^2))
  constexpr double kB = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kC = 0.044715;
  const Tensor u = x.add(squared.mul(x), Scalar(kC)).mul(Scalar(kB));
  const Tensor t = u.tanh();
  const Tensor du = squared.mul(Scalar(3 * kC)).add(Scalar(1)).mul(Scalar(kB));
  const Tensor ddu = x.mul(Scalar(6 * kB * kC));
  // 1 - t^2 without the difference, which leaves nothing of large operands.
  const Tensor e = u.abs().neg().exp();
  const Tensor sech = e.mul(Scalar(2)).div(e.mul(e).add(Scalar(1)));
  const Tensor sech2 = sech.mul(sech);
  return both.mul(sech2.mul(du.add(x.mul(ddu.mul(Scalar(0.5)).sub(t.mul(du.mul(du)))))));
}

}  // namespace shunt::autograd
