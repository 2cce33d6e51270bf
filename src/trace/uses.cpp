#include "src/trace/uses.h"

#include "src/trace/values_of.h"

#include <algorithm>
#include <utility>

namespace shunt::trace_detail {

Uses::Uses(const Graph& graph) : outputs_(graph.outputs().begin(), graph.outputs().end()) {
  for (Graph::Node* node : graph.nodes())
    forArguments(*node, [&](const Graph::Value* v) {
      std::vector<Graph::Node*>& users = users_[v];
      if (users.empty() || users.back() != node) users.push_back(node);
    });
}

std::span<Graph::Node* const> Uses::of(const Graph::Value* v) const {
  const auto found = users_.find(v);
  if (found == users_.end()) return {};
  return found->second;
}

void Uses::replace(const Graph::Value* value, Graph::Value* by) {
  const std::vector<Graph::Node*> moved = std::exchange(users_[value], {});
  for (Graph::Node* user : moved)
    for (Graph::Argument& a : user->arguments) std::ranges::replace(a.values, const_cast<Graph::Value*>(value), by);
  std::vector<Graph::Node*>& users = users_[by];
  users.insert(users.end(), moved.begin(), moved.end());
}

}  // namespace shunt::trace_detail
