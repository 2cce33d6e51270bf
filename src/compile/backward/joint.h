// A graph and the backward pass from its results, as one graph. For the thread that records.
#pragma once

#include <shunt/trace/graph.h>

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace shunt::compiled {

/// Strides of a result's gradient; nullopt: it has none.
using GradientLayout = std::optional<std::vector<int64_t>>;

/// What the backward pass gives one of the graph's inputs or constants, by one edge of the history.
struct JointContribution {
  size_t edge;   // its number, in the history of all results
  size_t given;  // among inputs, then constants
  bool arrives;  // else none comes this way
  // Of one that isn't the caller's gradient: whether it is a view in eager code, and whether others hold it, so that a
  // leaf copies it.
  bool is_view = false, is_held = false;
};

struct Joint {
  /// The given graph's nodes, then those of the backward pass; its inputs, then the gradients; its outputs.
  Graph graph;
  std::vector<Graph::Value*> gradients;  // of the results that have one
  size_t forward_nodes = 0;
  size_t edges = 0;                                        // in the history of all results
  std::vector<JointContribution> contributions;            // in the order in which a backward pass adds them
  std::vector<Graph::Value*> contributed;                  // their values; null where none arrives
  std::vector<std::pair<const Operator*, uint64_t>> seen;  // operators that were called, and their tables' fingerprints
};

/// `results`: numbers of outputs that require grad. Throws Error, saying why, where there is no such graph: where the
/// backward pass writes into what the graph has made, or throws.
Joint jointOf(const Graph& graph, std::span<const size_t> results, std::span<const GradientLayout> gradients);

/// Inputs, then constants.
std::vector<Graph::Value*> givenOf(const Graph& graph);

}  // namespace shunt::compiled
