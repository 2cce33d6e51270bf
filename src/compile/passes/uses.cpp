#include "src/compile/passes/uses.h"

#include "src/trace/values_of.h"

namespace shunt::compiled {

Uses::Uses(const Graph& graph) : outputs_(graph.outputs().begin(), graph.outputs().end()) {
  for (const Graph::Node* node : graph.nodes())
    trace_detail::forArguments(*node, [&](const Graph::Value* v) {
      std::vector<const Graph::Node*>& users = users_[v];
      if (users.empty() || users.back() != node) users.push_back(node);
    });
}

std::span<const Graph::Node* const> Uses::of(const Graph::Value* v) const {
  const auto found = users_.find(v);
  return found != users_.end() ? std::span<const Graph::Node* const>(found->second)
                               : std::span<const Graph::Node* const>();
}

}  // namespace shunt::compiled
