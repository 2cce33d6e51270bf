// RowNode: what one call of softmax, log_softmax or layer_norm along its last dimensions was seen to compute, as a loop
// over rows that can be run again on some of them. Made from a recorded call; constant then.
#pragma once

#include "src/compile/regions/pointwise_node.h"
#include "src/compile/steps/step.h"

#include <shunt/elementwise/row_loop.h>

namespace shunt::compiled {

struct RowNode {
  const Graph::Node* node = nullptr;
  const Graph::Value* result = nullptr;  // of the input's dtype and sizes
  PointwiseNode::Input in;
  std::optional<PointwiseNode::Input> weight, bias;
  elementwise::RowOperator op = elementwise::RowOperator::kSoftmax;
  elementwise::RowLoopFn run = nullptr;
  int64_t rows = 0, n = 0;
  double eps = 0;
};

/// The operator below, which does the work, or the node's own: whoever relies on a RowNode relies on its kernels too.
/// Null where the node isn't of such an operator, or the library's own kernels don't stand for both.
const Operator* rowOperatorBelow(const Graph::Node& node);

/// `node` is one with an operator below. Nothing where the loop alone doesn't give the result's bits here. `arguments`:
/// the tensors among the step's, in their order.
std::optional<RowNode> describeRows(const Step& step, std::span<const RecordedArgument> arguments,
                                    const Tensor& result);

}  // namespace shunt::compiled
