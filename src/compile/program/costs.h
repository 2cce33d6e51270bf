// What a node that is called costs, for people: Plan::describe(). A pure function of the graph.
#pragma once

#include <shunt/trace/graph.h>

#include <cstdint>
#include <string>

namespace shunt::compiled {

struct Costs {
  int64_t bytes = 0;  // of its tensors' elements, read and written; none of a view
  int64_t flops = 0;  // of products: two for each multiplication with its addition
  Costs& operator+=(const Costs& other) {
    bytes += other.bytes;
    flops += other.flops;
    return *this;
  }
  /// "96 bytes, 64 flops"; without what is 0, and "" where both are.
  std::string text() const;
};

Costs costsOf(const Graph::Node& node);

}  // namespace shunt::compiled
