// nll_loss_forward and nll_loss_backward of all samples together, and mse_loss of all elements, prepared: with the
// library's own loops on memory whose layout the graph has. Made once for a program; constant then.
#pragma once

#include "src/compile/steps/prepared_step.h"

#include <functional>

namespace shunt::compiled {

bool isLoss(const Graph::Node& node);
/// `place`: of the argument at an index. Null where the node isn't of the library's own kernel, reduces nothing, has
/// weights, or other operands than N x C floats or doubles and N targets of int64, or two tensors of floats or doubles.
std::shared_ptr<const PreparedStep> lossOf(const Graph::Node& node,
                                           const std::function<PreparedStep::Place(size_t)>& place);

}  // namespace shunt::compiled
