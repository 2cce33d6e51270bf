// Edge: an input of a node that a gradient flows to. An invalid edge (no node) discards its gradient.
//
// Owns its node by reference count. A value type, not synchronised.
#pragma once

#include <shunt/core/inline_vector.h>
#include <shunt/core/intrusive_ptr.h>

#include <cstdint>

namespace shunt {
struct Node;
}

namespace shunt::autograd {

struct Edge {
  Edge() = default;
  Edge(intrusive_ptr<Node> function, uint32_t input_nr);  // in node.h

  /// Whether the edge leads to a node.
  bool is_valid() const { return function.defined(); }
  bool operator==(const Edge& o) const { return function == o.function && input_nr == o.input_nr; }

  /// The node, and the number of its input.
  intrusive_ptr<Node> function;
  uint32_t input_nr = 0;
};

/// A node's edges. Three are inline, since few operators have more inputs that need a gradient.
using edge_list = InlineVector<Edge, 3>;

}  // namespace shunt::autograd
