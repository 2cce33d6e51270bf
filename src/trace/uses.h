// Uses: who reads the values of a graph, found once: Graph::users() looks through all nodes each time. Of a graph that
// stays as it is, or changes by replace() alone.
#pragma once

#include <shunt/trace/graph.h>

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace shunt::trace_detail {

class Uses {
 public:
  explicit Uses(const Graph& graph);
  /// Nodes with the value among their arguments, each once, in order; after replace() in any, and some twice.
  std::span<Graph::Node* const> of(const Graph::Value* v) const;
  bool isOutput(const Graph::Value* v) const { return outputs_.contains(v); }
  /// Puts `by` in the place of what is no output, wherever it is read.
  void replace(const Graph::Value* value, Graph::Value* by);

 private:
  std::unordered_map<const Graph::Value*, std::vector<Graph::Node*>> users_;
  std::unordered_set<const Graph::Value*> outputs_;
};

}  // namespace shunt::trace_detail
