#include "src/compile/backward/places.h"

#include "src/trace/values_of.h"

#include <algorithm>

namespace shunt::compiled {

Places::Places(const Graph& graph) : nodes_(graph.nodeCount()), node_of_(static_cast<size_t>(graph.idBound())) {
  uint32_t number = 0;
  for (const Graph::Node* node : graph.nodes()) {
    trace_detail::forResults(*node, [&](const Graph::Value* v) { node_of_[static_cast<size_t>(v->id)] = number; });
    ++number;
  }
}

uint64_t Places::of(const Graph::Value& value) const {
  const auto id = static_cast<size_t>(value.id);
  return id < node_of_.size() ? kNodesOfOperator * node_of_[id] : 0;
}

// A node without results has no history, or that of the one before it.
std::vector<uint64_t> Places::ofNodes(const Graph& part) const {
  std::vector<uint64_t> out;
  for (const Graph::Node* node : part.nodes()) {
    uint64_t place = out.empty() ? 0 : out.back();
    trace_detail::forResults(*node, [&](const Graph::Value* v) { place = std::max(place, of(*v)); });
    out.push_back(place);
  }
  return out;
}

}  // namespace shunt::compiled
