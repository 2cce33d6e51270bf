// What a node of a graph writes, and what it shares beyond its schema. Pure functions of the node; any thread.
#pragma once

#include "src/trace/values_of.h"

namespace shunt::trace_detail {

/// Whether the node writes its argument at this position: where its schema says so, and the running statistics that
/// batch_norm writes in training, of which PyTorch's schema says nothing.
bool writes(const Graph::Node& node, size_t argument);
/// Whether it writes any of its arguments.
bool writesAny(const Graph::Node& node);
/// Whether it writes this argument, and its schema doesn't say so: without the argument its results are the same.
bool writesUnsaid(const Graph::Node& node, size_t argument);

/// Whether its result is memory of its argument, and its schema doesn't say so: that of _unsafe_view, by which
/// reshape() gives what it has copied its shape.
bool sharesUnsaid(const Graph::Node& node);

/// Calls f with each value that it writes.
template <class F>
void forWritten(const Graph::Node& node, F&& f) {
  for (size_t i = 0; i < node.arguments.size(); ++i)
    if (writes(node, i)) forValues(node.arguments[i], f);
}

}  // namespace shunt::trace_detail
