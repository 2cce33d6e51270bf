// gradcheck: compares a function's gradients by autograd with central differences. For tests of operators and custom
// functions; runs the function 2 * numel + 1 times for each input.
//
// Inputs are float64 leaves; those that require grad are checked, and perturbed in place meanwhile. Any thread, if
// nobody else uses the inputs.
#pragma once

#include <shunt/autograd/node.h>

namespace shunt::autograd {

/// Tolerances of gradcheck.
struct GradcheckOptions {
  double eps = 1e-6;
  double atol = 1e-5;
  double rtol = 1e-3;
  /// gradgradcheck: seed of the random gradients that the first backward gets.
  uint64_t seed = 0;
};

/// The function that is checked: tensors to tensors.
using GradcheckFunction = std::function<variable_list(const variable_list& inputs)>;

/// Throws shunt::Error that shows both Jacobians when they differ. Each output is checked alone, so the others'
/// gradients are undefined meanwhile. Outputs that do not require grad are left out. Returns true.
SHUNT_API bool gradcheck(const GradcheckFunction& f, const variable_list& inputs, const GradcheckOptions& options = {});
/// The same of the function that gives f's gradients (create_graph): checks second derivatives.
SHUNT_API bool gradgradcheck(const GradcheckFunction& f, const variable_list& inputs,
                             const GradcheckOptions& options = {});

}  // namespace shunt::autograd
