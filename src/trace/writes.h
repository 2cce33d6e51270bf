// What a node of a graph writes. Pure functions of the node; any thread.
#pragma once

#include <shunt/trace/graph.h>

namespace shunt::trace_detail {

/// Whether the node writes its argument at this position: where its schema says so, and the running statistics that
/// batch_norm writes in training, of which PyTorch's schema says nothing.
bool writes(const Graph::Node& node, size_t argument);
/// Whether it writes any of its arguments.
bool writesAny(const Graph::Node& node);
/// Whether it writes this argument, and its schema doesn't say so: without the argument its results are the same.
bool writesUnsaid(const Graph::Node& node, size_t argument);

}  // namespace shunt::trace_detail
