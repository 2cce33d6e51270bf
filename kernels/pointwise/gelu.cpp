// gelu and its backward, exact or by the tanh approximation.
#include "generated/native_functions.h"
#include "kernels/pointwise/run.h"

namespace shunt::native {
namespace {

bool useTanh(std::string_view approximate) {
  SHUNT_CHECK(approximate == "none" || approximate == "tanh", "approximate argument must be either none or tanh, got '",
              approximate, "'");
  return approximate == "tanh";
}

}  // namespace

Tensor gelu(const Tensor& self, std::string_view approximate) {
  return useTanh(approximate) ? elementwise::run<functors::GeluTanh>("gelu", self)
                              : elementwise::run<functors::Gelu>("gelu", self);
}

Tensor& gelu_(Tensor& self, std::string_view approximate) {
  if (useTanh(approximate))
    elementwise::runInplace<functors::GeluTanh>("gelu_", self);
  else
    elementwise::runInplace<functors::Gelu>("gelu_", self);
  return self;
}

Tensor& gelu_out(const Tensor& self, std::string_view approximate, Tensor& out) {
  if (useTanh(approximate))
    elementwise::runOut<functors::GeluTanh>("gelu", out, self);
  else
    elementwise::runOut<functors::Gelu>("gelu", out, self);
  return out;
}

Tensor gelu_backward(const Tensor& grad_output, const Tensor& self, std::string_view approximate) {
  return useTanh(approximate) ? elementwise::run<functors::GeluTanhBackward>("gelu_backward", grad_output, self)
                              : elementwise::run<functors::GeluBackward>("gelu_backward", grad_output, self);
}

Tensor& gelu_backward_out(const Tensor& grad_output, const Tensor& self, std::string_view approximate,
                          Tensor& grad_input) {
  if (useTanh(approximate))
    elementwise::runOut<functors::GeluTanhBackward>("gelu_backward", grad_input, grad_output, self);
  else
    elementwise::runOut<functors::GeluBackward>("gelu_backward", grad_input, grad_output, self);
  return grad_input;
}

}  // namespace shunt::native
