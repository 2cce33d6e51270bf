#include "src/trace/writes.h"

#include <algorithm>
#include <string_view>

namespace shunt::trace_detail {
namespace {

/// An operator that writes these arguments where another one, a bool, is true.
struct Unsaid {
  std::string_view name;
  size_t first, last, where;
};
constexpr Unsaid kUnsaid[] = {{"aten::batch_norm", 3, 4, 5}, {"aten::native_batch_norm", 3, 4, 5}};

const Unsaid* unsaidOf(const Graph::Node& node) {
  const std::string_view name = node.op.op().name();
  const auto found = std::ranges::find(kUnsaid, name, &Unsaid::name);
  return found != std::end(kUnsaid) && node.arguments[found->where].literal.toBool() ? &*found : nullptr;
}

bool holdsTensor(const Graph::Argument& a) {
  return std::ranges::any_of(a.values, [](const Graph::Value* v) { return v != nullptr; });
}

}  // namespace

bool sharesUnsaid(const Graph::Node& node) { return node.op.op().name() == "aten::_unsafe_view"; }

bool writesUnsaid(const Graph::Node& node, size_t argument) {
  const Unsaid* unsaid = unsaidOf(node);
  return unsaid != nullptr && argument >= unsaid->first && argument <= unsaid->last &&
         holdsTensor(node.arguments[argument]);
}

bool writes(const Graph::Node& node, size_t argument) {
  return node.op.schema().arguments()[argument].is_write() || writesUnsaid(node, argument);
}

bool writesAny(const Graph::Node& node) {
  if (node.op.schema().is_mutable()) return true;
  const Unsaid* unsaid = unsaidOf(node);
  return unsaid != nullptr && (holdsTensor(node.arguments[unsaid->first]) || holdsTensor(node.arguments[unsaid->last]));
}

}  // namespace shunt::trace_detail
