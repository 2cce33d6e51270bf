// Which nodes of a graph must record a graph for autograd when it runs, since what they give, or write, leaves the
// graph with it. All others run below Autograd. A pure function.
#pragma once

#include "src/compile/passes/aliases.h"

#include <shunt/trace/graph.h>

#include <unordered_set>

namespace shunt::compiled {

struct HistoryOptions {
  /// Whether outputs carry their grad_fn out of the graph.
  bool of_outputs = true;
  /// Whether outputs that are views are noted as such, where what they are views of is the graph's own.
  bool views_of_outputs = true;
};

/// What the analysis found; nodes and values are the graph's.
struct History {
  std::unordered_set<const Graph::Node*> recorded;  // must run with Autograd
  std::unordered_set<const Graph::Node*> leaving;   // their results share memory with an output
};

History findHistory(const Graph& graph, const HistoryOptions& options);

/// Nodes that record, and read a view after something that it shows was written: the node of the view is made anew
/// then, and has the place that it gets there in the order in which a backward pass goes, and adds gradients.
std::unordered_set<const Graph::Node*> readersOfWrittenViews(const Graph& graph, const Aliases& aliases);

}  // namespace shunt::compiled
