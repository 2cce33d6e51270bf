// hardtanh and the backwards of leaky_relu and elu: forms of functors, and what is checked before them.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"
#include "kernels/pointwise/functors/activation.h"
#include "kernels/pointwise/functors/select.h"
#include "kernels/pointwise/run.h"

namespace shunt::native {
namespace {

struct Limits {
  Scalar min, max;
};

/// The limits never change the result's dtype: of integers they are cut to integers.
Limits limitsFor(const Tensor& self, const Scalar& min, const Scalar& max) {
  const ScalarType dtype = implOf(self, "hardtanh").dtype();
  SHUNT_CHECK(dtype != kBool, "Bool inputs not supported for hardtanh");
  if (!isIntegralType(dtype, false)) return {min, max};
  const Limits limits{min.to<int64_t>(), max.to<int64_t>()};
  SHUNT_CHECK(dtype != kByte || (limits.min.to<int64_t>() >= 0 && limits.max.to<int64_t>() >= 0),
              "cannot do hardtanh on an unsigned type with negative limits");
  return limits;
}

void checkSlope(const Scalar& slope, bool self_is_result) {
  SHUNT_CHECK(!self_is_result || slope.to<double>() >= 0,
              "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported: the "
              "result does not tell the input's sign then. Call leaky_relu instead of leaky_relu_");
}

void checkAlpha(const Scalar& alpha, bool is_result) {
  SHUNT_CHECK(!is_result || alpha.to<double>() >= 0,
              "In-place elu backward calculation is triggered with a negative slope which is not supported: the result "
              "does not tell the input's sign then. Call elu instead of elu_");
}

}  // namespace

Tensor hardtanh(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  const Limits limits = limitsFor(self, min_val, max_val);
  return elementwise::run<functors::Clamp>("hardtanh", self, limits.min, limits.max);
}
Tensor& hardtanh_(Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  const Limits limits = limitsFor(self, min_val, max_val);
  elementwise::runInplace<functors::Clamp>("hardtanh_", self, limits.min, limits.max);
  return self;
}
Tensor& hardtanh_out(const Tensor& self, const Scalar& min_val, const Scalar& max_val, Tensor& out) {
  const Limits limits = limitsFor(self, min_val, max_val);
  elementwise::runOut<functors::Clamp>("hardtanh", out, self, limits.min, limits.max);
  return out;
}

Tensor leaky_relu_backward(const Tensor& grad_output, const Tensor& self, const Scalar& negative_slope,
                           bool self_is_result) {
  checkSlope(negative_slope, self_is_result);
  return elementwise::run<functors::LeakyReluBackward>("leaky_relu_backward", grad_output, self, negative_slope);
}
Tensor& leaky_relu_backward_out(const Tensor& grad_output, const Tensor& self, const Scalar& negative_slope,
                                bool self_is_result, Tensor& grad_input) {
  checkSlope(negative_slope, self_is_result);
  elementwise::runOut<functors::LeakyReluBackward>("leaky_relu_backward", grad_input, grad_output, self,
                                                   negative_slope);
  return grad_input;
}

Tensor elu_backward(const Tensor& grad_output, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
                    bool is_result, const Tensor& self_or_result) {
  checkAlpha(alpha, is_result);
  return is_result ? elementwise::run<functors::EluBackwardOfResult>("elu_backward", grad_output, self_or_result, alpha,
                                                                     scale, input_scale)
                   : elementwise::run<functors::EluBackward>("elu_backward", grad_output, self_or_result, alpha, scale,
                                                             input_scale);
}
Tensor& elu_backward_out(const Tensor& grad_output, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
                         bool is_result, const Tensor& self_or_result, Tensor& grad_input) {
  checkAlpha(alpha, is_result);
  if (is_result)
    elementwise::runOut<functors::EluBackwardOfResult>("elu_backward", grad_input, grad_output, self_or_result, alpha,
                                                       scale, input_scale);
  else
    elementwise::runOut<functors::EluBackward>("elu_backward", grad_input, grad_output, self_or_result, alpha, scale,
                                               input_scale);
  return grad_input;
}

}  // namespace shunt::native
