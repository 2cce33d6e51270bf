// What a node that casts was seen to compute, as a pointwise node. Pure functions.
#pragma once

#include "src/compile/regions/pointwise_node.h"

namespace shunt::compiled {

/// `node` is a cast (passes/casts.h), called with these arguments. Nothing where elements don't lie in order.
std::optional<PointwiseNode> describeCast(const Graph::Node& node, std::span<const RecordedArgument> arguments,
                                          const Tensor& result);

}  // namespace shunt::compiled
