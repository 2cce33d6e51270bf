#include "src/compile/backward/split_views.h"

#include "src/compile/backward/trailing_views.h"
#include "src/compile/passes/aliases.h"

namespace shunt::compiled {

SplitViews::SplitViews(const Graph::Node& node, size_t base) : op_(node.op), numbers_(numbersOf(node)), base_(base) {}

bool SplitViews::isNode(const Graph::Node& node) {
  if (!isOfDictionary(node) || node.outputs.size() != 1 || !node.outputs[0].is_list) return false;
  const FunctionSchema& schema = node.op.schema();
  return schema.returns()[0].hasAlias() && schema.arguments()[0].hasAlias() && !schema.is_mutable() &&
         mayBeCalledLater(node);
}

std::vector<Tensor> SplitViews::of(const Tensor& base) const {
  Stack stack = {IValue(base)};
  stack.insert(stack.end(), numbers_.begin(), numbers_.end());
  op_.callBoxed(&stack);
  return stack.back().toTensorVector();
}

}  // namespace shunt::compiled
