// gradcheck: compares the gradients that autograd computes with central differences. For tests of operators and custom
// functions. Runs the function once, and 2 * numel times for each checked input and each output.
//
// Inputs that require grad are checked, and must be float64 leaves. The check changes their elements in place and
// restores them, unless the function throws. Any thread may call it while no other thread uses the inputs.
#pragma once

#include <shunt/autograd/node.h>

namespace shunt::autograd {

/// Step (eps) and tolerances of gradcheck.
struct GradcheckOptions {
  double eps = 1e-6;
  double atol = 1e-5;
  double rtol = 1e-3;
  /// gradgradcheck only: the seed of the random gradients for the first backward.
  uint64_t seed = 0;
};

/// The function to check: takes `inputs`, returns its outputs.
using GradcheckFunction = std::function<variable_list(const variable_list& inputs)>;

/// Returns true, or throws a shunt::Error that shows both Jacobians when they differ. Checks one output at a time; the
/// gradients of the others are undefined in that run. Skips outputs that do not require grad.
SHUNT_API bool gradcheck(const GradcheckFunction& f, const variable_list& inputs, const GradcheckOptions& options = {});
/// Checks second derivatives: gradcheck of the function that computes f's gradients (create_graph).
SHUNT_API bool gradgradcheck(const GradcheckFunction& f, const variable_list& inputs,
                             const GradcheckOptions& options = {});

}  // namespace shunt::autograd
