// A pass for graphs whose history nobody sees: views that show what their base shows (t() of t()) are left out.
// Backward formulas and the functions that call them make many. A pure function of the graph.
#pragma once

#include <shunt/trace/graph.h>

namespace shunt::compiled {

/// Whether the node gives a view, a tensor of its own, whatever its arguments are: to() and contiguous() may copy.
bool makesView(const Graph::Node& node);

/// Whether the node is an addition to a leaf's grad of a view, whose strides in dimensions of size 1 aren't the leaf's:
/// as its first grad they become the leaf's (asGradOf, src/autograd/accumulate_grad.cpp).
bool addsViewOfOtherStrides(const Graph::Node& node);

/// Returns how many nodes are gone.
int64_t dropSameViews(Graph& graph);

}  // namespace shunt::compiled
