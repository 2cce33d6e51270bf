// Small tensors of ones or zeros that a plan makes from the graph's sizes, without the operators that stand for them:
// the first gradient of a backward pass is one.
#pragma once

#include "src/compile/steps/prepared_step.h"

#include <memory>

namespace shunt::compiled {

/// Whether the operator is ones_like or zeros_like, of which some are prepared.
bool isFill(const Graph::Node& node);
/// Null where the node can't be prepared, or the library's own function doesn't stand for it. `like`: its argument.
/// Whoever runs it relies on what that function calls, too.
std::shared_ptr<const PreparedStep> fillOf(const Graph::Node& node, const PreparedStep::Place& like);

}  // namespace shunt::compiled
