#include "src/compile/passes/casts.h"

#include "src/compile/guards/own_calls.h"

#include <shunt/core/dispatcher.h>

#include <algorithm>
#include <string_view>

namespace shunt::compiled {
namespace {

constexpr const char* kCopies = "aten::_to_copy";
constexpr std::string_view kCasts[] = {kCopies, "aten::to.dtype", "aten::to.dtype_layout", "aten::to.device"};

bool changesDtypeOnCpu(const Graph::Node& node) {
  if (node.outputs.size() != 1 || node.outputs[0].is_list || node.outputs[0].values.size() != 1) return false;
  const Graph::Value *from = node.arguments[0].value(), *made = node.outputs[0].values[0];
  return from != nullptr && made != nullptr && from->spec.dtype != made->spec.dtype && from->spec.device == kCPU &&
         made->spec.device == kCPU;
}

}  // namespace

const Operator* castBelow(const Graph::Node& node) {
  const std::string name = node.name();
  if (std::ranges::find(kCasts, name) == std::end(kCasts) || !changesDtypeOnCpu(node)) return nullptr;
  const bool may_autocast = mayAutocast(node);
  if (name != kCopies && !callsOwn(node.op.op(), EntryReason::kCompositeImplicit, may_autocast)) return nullptr;
  const Operator& copies = Dispatcher::singleton().findSchemaOrThrow(kCopies).op();
  return callsOwn(copies, EntryReason::kCompositeExplicit, may_autocast) ? &copies : nullptr;
}

}  // namespace shunt::compiled
