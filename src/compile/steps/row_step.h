// Small operators along rows that are on their own in a plan: softmax, log_softmax and their gradients, of tensors that
// lie as the graph says, without their operators. (With pointwise nodes around them they are in regions: row_node.h.)
#pragma once

#include "src/compile/steps/prepared_step.h"

#include <memory>

namespace shunt::compiled {

/// Whether the operator is one of these, of which some are prepared.
bool isRowOperator(const Graph::Node& node);
/// Null where the node can't be prepared, or the library's own kernel doesn't stand for it. `in`: its first argument;
/// `result`: the second one of a gradient.
std::shared_ptr<const PreparedStep> rowsOf(const Graph::Node& node, const PreparedStep::Place& in,
                                           const PreparedStep::Place& result);

}  // namespace shunt::compiled
