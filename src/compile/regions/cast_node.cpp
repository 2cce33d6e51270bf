#include "src/compile/regions/cast_node.h"

#include "src/compile/guards/keys_that_matter.h"

#include <shunt/elementwise/cast_loop.h>

#include <algorithm>

namespace shunt::compiled {
namespace {

/// Whose result no region's new tensors are.
bool asksForPinnedMemory(const Graph::Node& node) {
  const auto& wanted = node.op.schema().arguments();
  for (size_t i = 0; i < wanted.size(); ++i)
    if (const IValue& given = node.arguments[i].literal; wanted[i].name == "pin_memory")
      return given.isBool() && given.toBool();
  return false;
}

}  // namespace

std::optional<PointwiseNode> describeCast(const Graph::Node& node, std::span<const RecordedArgument> arguments,
                                          const Tensor& result) {
  const RecordedArgument& given = arguments[0];
  const Tensor& from = given.tensor;
  if (!from.defined() || !hasPlainKeys(from) || !isRowMajor(from) || !mayBeOfRegion(result) ||
      !from.sizes().equals(result.sizes()) || asksForPinnedMemory(node))
    return std::nullopt;
  const elementwise::CastLoop loop = elementwise::castLoopOf(from.dtype(), result.dtype());
  if (loop.run == nullptr) return std::nullopt;
  PointwiseNode out;
  out.node = &node;
  out.result = node.result();
  out.cast = loop.run;
  out.generic = loop.generic;
  out.common = out.dtype = result.dtype();
  out.sizes = result.sizes().vec();
  out.inputs.push_back(inputOf(given.value, Fit::kFull, from));
  return out;
}

}  // namespace shunt::compiled
