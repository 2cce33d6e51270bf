// Places: where the nodes of a graph's history are in the engine's order (Node::sequence_nr), counted from the graph's
// first one. A part of the graph that is run again has the places that it would have had among the others. Constant
// once made; any thread.
#pragma once

#include <shunt/autograd/node.h>
#include <shunt/trace/graph.h>

#include <cstdint>
#include <vector>

namespace shunt::compiled {

class Places {
 public:
  explicit Places(const Graph& graph);

  /// No history of the graph has more.
  uint64_t count() const { return kNodesOfOperator * (nodes_ + 1); }
  /// The first one of what makes the value: of the graph, or of a clone or part of it.
  uint64_t of(const Graph::Value& value) const;
  /// The last one.
  uint64_t lastOf(const Graph::Value& value) const { return of(value) + kNodesOfOperator - 1; }
  /// The first one of each node of a part.
  std::vector<uint64_t> ofNodes(const Graph& part) const;

  /// Sets where what this thread makes next has its place, until it is destroyed.
  class Scope {
   public:
    explicit Scope(uint64_t afterwards) : afterwards_(afterwards) {}
    ~Scope() { autograd::detail::next_sequence_nr = afterwards_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    void goTo(uint64_t place) const { autograd::detail::next_sequence_nr = place; }

   private:
    const uint64_t afterwards_;
  };

 private:
  /// Composites that an operator is recorded as, and casts, have nodes of their own.
  static constexpr uint64_t kNodesOfOperator = 64;

  size_t nodes_;
  std::vector<uint32_t> node_of_;  // number of the node, by its results' ids
};

}  // namespace shunt::compiled
