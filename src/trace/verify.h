// The part of Graph::verify that a loaded graph has to pass before anything else looks at it. Pure functions.
#pragma once

#include <shunt/trace/graph.h>

namespace shunt::trace_detail {

/// Throws, naming the node, unless its arguments and returns are as many as its operator's, and of their types.
void checkSchema(const Graph::Node& node, size_t position);

}  // namespace shunt::trace_detail
