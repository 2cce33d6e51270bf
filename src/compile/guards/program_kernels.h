// Whether running a graph runs code of the program's: kernels that it has registered. Any thread.
#pragma once

#include <shunt/trace/graph.h>

#include <vector>

namespace shunt::compiled {

/// As the tables are now. `called`: the operators that recording the graph has called.
bool callsProgramKernels(const Graph& graph, const std::vector<const Operator*>& called);

}  // namespace shunt::compiled
