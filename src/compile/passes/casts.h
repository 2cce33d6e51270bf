// Casts: nodes that make a tensor of another dtype of one on the CPU, by the library's own kernels. Which those are is
// read from the operators' tables as they are now: whoever relies on it relies on their entries. Any thread.
#pragma once

#include <shunt/trace/graph.h>

namespace shunt::compiled {

/// The operator that copies: the node's, or the one that the node's calls. Null where the node is no cast, or other
/// kernels than the library's own have a part in it.
const Operator* castBelow(const Graph::Node& node);
inline bool isCast(const Graph::Node& node) { return castBelow(node) != nullptr; }

/// Whether the node was recorded where autocast may be on.
inline bool mayAutocast(const Graph::Node& node) { return node.modes.in_autocast || !node.modes.autocast.empty(); }

}  // namespace shunt::compiled
