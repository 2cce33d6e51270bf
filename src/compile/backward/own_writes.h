// What a function writes into tensors that it was given, and does nothing else with: running statistics, averages of
// parameters, counters. Its results don't depend on these, so that its graph may be run again without writing them.
// Pure functions of the graph.
#pragma once

#include <shunt/trace/graph.h>

namespace shunt::compiled {

/// Throws Error, saying why, where the graph writes a tensor that it was given in another way.
void checkOwnWrites(const Graph& graph);

/// The graph without these writes.
Graph withoutOwnWrites(const Graph& graph);

}  // namespace shunt::compiled
