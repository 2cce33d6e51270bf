// Whether a compiled backward pass can start from a graph's result, and why not. A pure function of the graph.
#pragma once

#include <shunt/trace/graph.h>

#include <vector>

namespace shunt::compiled {

/// The outputs that require grad. `outputs`: the fake results that were recorded. Throws Error, saying why, where
/// running the graph without its history, and again with it, wouldn't be as good.
std::vector<size_t> resultsWithHistory(const Graph& graph, const std::vector<Tensor>& outputs);

/// Throws Error where the output may be a view, or shares memory with a tensor that the graph was given. `recorded`:
/// the fake one, where that is known.
void checkIsNoView(const Graph& graph, size_t output, const Tensor& recorded);

}  // namespace shunt::compiled
