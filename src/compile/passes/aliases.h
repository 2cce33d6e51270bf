// Which values of a graph may share memory, by the schemas of its nodes: groups. Made once for a graph; constant then.
#pragma once

#include <shunt/trace/graph.h>

#include <vector>

namespace shunt::compiled {

/// Whether the operator is the dictionary's, whose schema says all that it does to its arguments.
bool isOfDictionary(const Graph::Node& node);
/// Whether a result may share memory with an argument.
bool mayAlias(const Graph::Node& node);

/// The value that the node writes in place and returns; null where it does something else.
const Graph::Value* writtenInPlace(const Graph::Node& node);

class Aliases {
 public:
  /// `grads_apart`: what a leaf gets as its grad is not taken for memory of the leaf's own; good where no grad that a
  /// given tensor has shares memory with another given tensor.
  explicit Aliases(const Graph& graph, bool grads_apart = false);
  size_t of(const Graph::Value* value) const { return group_[static_cast<size_t>(value->id)]; }
  /// The value whose tensor it is: what an in-place operator returns is its argument.
  const Graph::Value* tensorOf(const Graph::Value* value) const { return tensors_[static_cast<size_t>(value->id)]; }
  size_t count() const { return written_.size(); }
  /// Whether some node writes the group's memory.
  bool isWritten(const Graph::Value* value) const { return written_[of(value)]; }
  /// Whether an input or constant is in it.
  bool holdsGiven(size_t group) const { return given_[group]; }

 private:
  size_t find(size_t id);
  void join(const Graph::Node& node);
  /// What stands for the grad of a tensor among the ids.
  size_t gradOf(const Graph::Value* leaf) const;

  const bool grads_apart_;

  std::vector<size_t> group_;                 // by the value's id, then gradOf(); the id of one of the group
  std::vector<const Graph::Value*> tensors_;  // by the value's id
  std::vector<bool> written_, given_;         // by group
};

/// Whether a node behind the one that gives the value writes its memory.
bool isWrittenBehind(const Graph& graph, const Graph::Value* made, const Aliases& aliases);
/// The same, or that node itself.
bool isWrittenAfter(const Graph& graph, const Graph::Value* made, const Aliases& aliases);

}  // namespace shunt::compiled
