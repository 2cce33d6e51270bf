// toDot(): draws a graph with Graphviz.
#pragma once

#include <shunt/trace/graph.h>

#include <string>

namespace shunt {

/// The graph as a program in DOT, Graphviz's language. A box is a node, with its operator and the dtypes and sizes of
/// its results. An ellipse is an input, constant or output. An arrow is named after the argument that takes the value.
/// Equal graphs give equal texts. Any thread, as long as no other changes the graph.
SHUNT_API std::string toDot(const Graph& graph);

}  // namespace shunt
