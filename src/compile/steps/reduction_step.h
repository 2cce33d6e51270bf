// Reductions of a plan: sum and mean along named dimensions, of tensors that lie as the graph says, without their
// operators.
#pragma once

#include "src/compile/steps/prepared_step.h"

#include <memory>

namespace shunt::compiled {

/// Whether the operator is one of these, of which some are prepared.
bool isReduction(const Graph::Node& node);
/// Null where the node can't be prepared, or the library's own kernel doesn't stand for it. `in`: its first argument.
/// `result`: what it makes, or a view of that which lies as a new tensor.
std::shared_ptr<const PreparedStep> reductionOf(const Graph::Node& node, const PreparedStep::Place& in,
                                                const Graph::Spec& result);

}  // namespace shunt::compiled
