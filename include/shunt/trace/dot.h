// A graph as a drawing.
#pragma once

#include <shunt/trace/graph.h>

#include <string>

namespace shunt {

/// The graph in Graphviz's language, DOT: a box for each node with its operator and the dtypes and sizes of its
/// results, an ellipse for each input, constant and output, and arrows named as the arguments that take the value. The
/// same text for the same graph.
SHUNT_API std::string toDot(const Graph& graph);

}  // namespace shunt
