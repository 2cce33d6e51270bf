// A pass over a graph, as docs/tracing.md shows it: x * 2 becomes x + x.
#pragma once

#include <shunt/trace/graph.h>

namespace examples {

/// Returns how many nodes it changed.
inline int doubleByAdding(shunt::Graph& graph) {
  int changed = 0;
  for (shunt::Graph::Node* node : graph.nodes()) {
    if (!node->is("aten::mul.Scalar")) continue;
    const shunt::IValue& factor = node->arguments[1].literal;
    if (!factor.isScalar() || factor.toDouble() != 2) continue;
    shunt::Graph::Value* x = node->arguments[0].value();
    shunt::Graph::Node* sum = graph.insert(node, "aten::add.Tensor", {x, x});
    graph.replace(node->result(), sum->result());
    graph.erase(node);
    ++changed;
  }
  graph.verify();
  return changed;
}

}  // namespace examples
