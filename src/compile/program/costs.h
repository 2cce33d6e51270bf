// What a node that is called costs, for people: PlanPart. A pure function of the graph.
#pragma once

#include <shunt/trace/graph.h>

#include <cstdint>

namespace shunt::compiled {

struct Costs {
  int64_t bytes = 0;  // of its tensors' elements, read and written; none of a view
  int64_t flops = 0;  // of products: two for each multiplication with its addition
};

Costs costsOf(const Graph::Node& node);

}  // namespace shunt::compiled
