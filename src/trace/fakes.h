// Fake tensors in the place of a graph's values: what an operator would return, and graphs that run on them. Pure
// functions of their arguments.
#pragma once

#include <shunt/trace/graph.h>

#include <optional>
#include <unordered_map>
#include <vector>

namespace shunt::trace_detail {

/// What a node returns: for each return, whether it is a list, and the tensors' specs.
using Results = std::vector<std::pair<bool, std::vector<std::optional<Graph::Spec>>>>;
/// By a call on fake tensors under the node's modes. Throws what the operator throws.
Results resultsOf(const Graph::Node& node);

/// Fake tensors of a graph's inputs and constants: those that share memory do. Their grads aren't known.
class Fakes {
 public:
  explicit Fakes(const Graph& graph);
  const Tensor& of(const Graph::Value& value) const { return tensors_.at(value.id); }

 private:
  std::unordered_map<int64_t, Tensor> tensors_;
};

/// A fake tensor in a storage of its own.
Tensor fakeOf(const Graph::Spec& spec);

}  // namespace shunt::trace_detail
