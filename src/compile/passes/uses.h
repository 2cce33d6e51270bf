// Uses: who reads the values of a graph, found once: Graph::users() looks through all nodes each time. Constant once
// made; the graph must stay as it is.
#pragma once

#include <shunt/trace/graph.h>

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace shunt::compiled {

class Uses {
 public:
  explicit Uses(const Graph& graph);
  /// Nodes with the value among their arguments, in order, each once.
  std::span<const Graph::Node* const> of(const Graph::Value* v) const;
  bool isOutput(const Graph::Value* v) const { return outputs_.contains(v); }

 private:
  std::unordered_map<const Graph::Value*, std::vector<const Graph::Node*>> users_;
  std::unordered_set<const Graph::Value*> outputs_;
};

}  // namespace shunt::compiled
