// The parts of a function's history: what each of its results leads to before it comes to another one of them.
//
// Note [Several results]
// Each result gets a node for its part, whose edges lead to leaves and to the nodes of other results: where a loss is
// made of the logits that are returned beside it, gradients come together at the logits, with hooks and with what comes
// from outside, as in eager code. That is right where parts share nothing but results and leaves, and where a result or
// leaf gets the gradients of one part after those of another: the node of what was made last runs first, and gives all
// of its own at once. A view that the function makes last has its own node, in its place among these; no other part may
// lead to what it is a view of.
// Where histories meet elsewhere, as those of two heads of one network do, the tensor at which they meet is taken for a
// result, too: one that the function keeps to itself, so that it may be a view. So is what gives a tensor its gradient
// after those of a part that has its turn later.
#pragma once

#include <shunt/trace/graph.h>

#include <vector>

namespace shunt::compiled {

struct Parts {
  /// Not empty: these have to be results, too, for there to be parts, and all that follows but `order` is empty. Views
  /// that one operator gives (SplitViews) come together, behind what they are views of.
  std::vector<Graph::Value*> meetings = {};
  std::vector<size_t> order;        // of the results: that in which their nodes are made
  std::vector<bool> given;          // by given tensor: whether it gets gradients from several parts
  std::vector<bool> reached;        // by output: whether another result's part leads to it
  std::vector<bool> reached_often;  // whether those of several do
};

/// `results`: outputs with a history. Throws Error where their histories have no such parts, whatever is a result.
Parts partsOf(const Graph& graph, const std::vector<size_t>& results);

}  // namespace shunt::compiled
