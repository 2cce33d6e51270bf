// The values of a node, without the Nones among them. `f` gets a Value*. Any thread, while nobody changes the node.
#pragma once

#include <shunt/trace/graph.h>

namespace shunt::trace_detail {

/// Of an argument, a return, or another list.
template <class List, class F>
void forValues(const List& list, F&& f) {
  for (Graph::Value* v : list.values)
    if (v != nullptr) f(v);
}

template <class F>
void forArguments(const Graph::Node& node, F&& f) {
  for (const Graph::Argument& a : node.arguments) forValues(a, f);
}

template <class F>
void forResults(const Graph::Node& node, F&& f) {
  for (const Graph::Output& o : node.outputs) forValues(o, f);
}

}  // namespace shunt::trace_detail
