// The table of gradcheck cases: for every operator with a derivative, inputs in float64 on which its gradients and its
// gradients' gradients are compared with differences. One function for each family; gradcheck_test.cpp runs them all.
#pragma once

#include "tests/autograd/util.h"

namespace shunt::test {

using autograd::variable_list;

struct GradcheckCase {
  std::string op;  // "add.Tensor": the dictionary operator whose derivative it checks
  std::function<variable_list()> inputs;
  autograd::GradcheckFunction f;
  bool second = true;  // gradgradcheck too; false where the gradient does not depend on anything
};

using Cases = std::vector<GradcheckCase>;

Cases elementwiseCases();
Cases activationCases();
Cases reductionCases();
Cases shapeCases();
Cases linalgAndLossCases();
Cases specialCases();
Cases visionCases();

/// Numbers of that range, all different and at least (high - low) / (2 numel) apart, so that none is near another, 0 or
/// 1/2; the same on every run.
Tensor spread(IntArrayRef sizes, double low = -2, double high = 2, uint64_t seed = 1);
/// The same as a leaf that requires grad.
inline Tensor var(IntArrayRef sizes, double low = -2, double high = 2, uint64_t seed = 1) {
  return spread(sizes, low, high, seed).requires_grad_();
}

/// A case with one result, of a function of the input list's tensors.
template <class F>
GradcheckCase unary(std::string op, F f, double low = -2, double high = 2) {
  return {std::move(op), [low, high] { return variable_list{var({2, 3}, low, high)}; },
          [f](const variable_list& x) { return variable_list{f(x[0])}; }};
}

}  // namespace shunt::test
