// A pass for graphs whose history nobody sees: views that show what their base shows (t() of t()) are left out.
// Backward formulas and the functions that call them make many. A pure function of the graph.
#pragma once

#include <shunt/trace/graph.h>

namespace shunt::compiled {

/// Returns how many nodes are gone.
int64_t dropSameViews(Graph& graph);

}  // namespace shunt::compiled
