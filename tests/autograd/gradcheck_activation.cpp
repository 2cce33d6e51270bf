// Gradcheck's cases of activations and of their backward forms.
#include "tests/autograd/gradcheck_cases.h"

namespace shunt::test {
namespace {

// The backward forms are operators of two arguments: the gradient and what was saved.
template <class F>
GradcheckCase backwardForm(const char* op, F f, double low = -2, double high = 2) {
  return {op, [=] { return variable_list{var({2, 3}, -1, 1, 1), var({2, 3}, low, high, 2)}; },
          [f](const variable_list& x) { return variable_list{f(x[0], x[1])}; }};
}

}  // namespace

Cases activationCases() {
  Cases c;
  c.push_back(unary("tanh", [](const Tensor& x) { return x.tanh(); }));
  c.push_back(unary("sigmoid", [](const Tensor& x) { return x.sigmoid(); }));
  c.push_back(unary("relu", [](const Tensor& x) { return x.relu(); }));
  c.push_back(unary("threshold", [](const Tensor& x) { return threshold(x, 0.5, 7); }));
  c.push_back(unary("leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.3); }));
  c.push_back(unary("elu", [](const Tensor& x) { return elu(x, 0.7, 1.3, 0.9); }));
  c.push_back(unary("elu_", [](const Tensor& x) {
    Tensor y = x.clone();
    return elu_(y, 0.7, 1.3, 0.9);
  }));
  c.push_back(unary("hardtanh", [](const Tensor& x) { return hardtanh(x, -0.9, 1.1); }));
  c.push_back(unary("softplus", [](const Tensor& x) { return softplus(x, 1.5, 2); }));
  c.push_back(unary("silu", [](const Tensor& x) { return silu(x); }));
  c.push_back(unary("gelu", [](const Tensor& x) { return gelu(x); }));
  c.push_back(unary("gelu", [](const Tensor& x) { return gelu(x, "tanh"); }));
  c.push_back(backwardForm("tanh_backward", [](const Tensor& g, const Tensor& y) { return tanh_backward(g, y); }));
  c.push_back(backwardForm(
      "sigmoid_backward", [](const Tensor& g, const Tensor& y) { return sigmoid_backward(g, y); }, 0.1, 0.9));
  c.push_back(backwardForm("threshold_backward",
                           [](const Tensor& g, const Tensor& x) { return threshold_backward(g, x, 0.5); }));
  c.push_back(backwardForm("leaky_relu_backward",
                           [](const Tensor& g, const Tensor& x) { return leaky_relu_backward(g, x, 0.3, false); }));
  for (const bool of_result : {false, true})
    c.push_back(backwardForm("elu_backward", [=](const Tensor& g, const Tensor& x) {
      return elu_backward(g, 0.7, 1.3, 0.9, of_result, x);
    }));
  c.push_back(backwardForm("hardtanh_backward",
                           [](const Tensor& g, const Tensor& x) { return hardtanh_backward(g, x, -0.9, 1.1); }));
  c.push_back(backwardForm("softplus_backward",
                           [](const Tensor& g, const Tensor& x) { return softplus_backward(g, x, 1.5, 2); }));
  c.push_back(backwardForm("silu_backward", [](const Tensor& g, const Tensor& x) { return silu_backward(g, x); }));
  c.push_back(backwardForm("gelu_backward", [](const Tensor& g, const Tensor& x) { return gelu_backward(g, x); }));
  c.push_back(
      backwardForm("gelu_backward", [](const Tensor& g, const Tensor& x) { return gelu_backward(g, x, "tanh"); }));
  return c;
}

}  // namespace shunt::test
