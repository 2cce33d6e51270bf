// What a function writes into tensors that it was given, and does nothing else with: running statistics, averages of
// parameters, counters. Its results don't depend on these, so that its graph may be run again without writing them.
// Pure functions of the graph.
#pragma once

#include <shunt/trace/graph.h>

#include <vector>

namespace shunt::compiled {

/// By the number of the given tensor, among inputs, then constants: whether the graph writes it so. Throws Error,
/// saying why, where it writes one in another way.
std::vector<bool> ownWritesOf(const Graph& graph);

/// The graph without these writes.
Graph withoutOwnWrites(const Graph& graph);

}  // namespace shunt::compiled
