// Regions: pointwise nodes of a graph that run together as one loop, and the order in which regions and all other nodes
// run. Pure functions.
//
// Note [Order of a plan]
// The nodes of a region run where its last one stood, so the earlier ones move down, past nodes that are not in it.
// Nodes of regions are functional: they read their inputs and write new memory, draw nothing and can't fail but for
// lack of memory. So one may pass another node X if X doesn't use what it gives, which would come too late, and X
// writes no memory, since that may be what it reads. Any other X ends the regions that it would have to be passed by:
// all of them if it writes, draws random numbers or isn't the dictionary's, else those whose results it uses (as does a
// host step that says that it has no effects). In-place
// nodes may be in regions too, where nothing but the region's own nodes comes between: one that writes ends at any node
// that isn't pointwise, which could fail or read what is written, and at a pointwise node of another region that
// touches that memory; and a node that writes ends the other regions that touch what it writes. Within a region memory
// that is written is touched through one tensor only, element by element, in the nodes' order.
//
// A backward pass adds to the leaves' grads as soon as it has their gradients, between nodes that would make one
// region. So trace::accumulate_grad_ goes behind the pointwise nodes after it that make new tensors, in its turn among
// its like: these fail nowhere, and what they read isn't a grad's memory, which it may write. Whether the leaf keeps
// the gradient itself or copies it depends on who else had it in eager code, which the node says (`held`). A copy of
// what is dead by then may be the tensor itself, with a copy's version (program/step_builder.cpp).
#pragma once

#include "src/compile/passes/aliases.h"
#include "src/compile/regions/pointwise_node.h"
#include "src/compile/regions/row_node.h"

#include <span>
#include <vector>

namespace shunt::compiled {

/// One thing to run: a region of some nodes, or a single node that isn't in one; or a region, a node along rows, and
/// another region, by blocks of rows.
struct Group {
  std::vector<const PointwiseNode*> region = {};  // in order; empty: a single node
  const Graph::Node* single = nullptr;
  const RowNode* rows = nullptr;                 // `single`'s, behind `region`, which may be empty
  std::vector<const PointwiseNode*> after = {};  // behind that
};

/// Nodes that run on their own have no PointwiseNode. `grads_apart`: no grad that a given tensor has shares memory with
/// another given tensor.
std::vector<Group> orderOf(const Graph& graph, const Aliases& aliases, std::span<const PointwiseNode> pointwise,
                           bool grads_apart = false);

/// Joins regions with the nodes along rows between them, where each row can be done on its own: what the second region
/// reads of the first or of the node is the row's own, and nothing is written in place.
std::vector<Group> withRows(std::vector<Group> groups, std::span<const RowNode> rows);

}  // namespace shunt::compiled
