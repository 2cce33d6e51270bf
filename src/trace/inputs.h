// What a run of a graph asks of the tensors that it is given. Pure functions; any thread.
#pragma once

#include <shunt/trace/graph.h>

namespace shunt::trace_detail {

/// Throws Error, naming the input, where one is undefined, or of another dtype, device or shape than was recorded;
/// where it lies otherwise, and an operator of the graph is for how the recorded one lay; and where an output is no
/// value of the graph's.
void checkRun(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace shunt::trace_detail
