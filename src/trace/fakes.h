// Fake tensors in the place of a graph's values: what an operator would return, and graphs that run on them. Pure
// functions of their arguments.
#pragma once

#include <shunt/autograd/graph_tensor.h>
#include <shunt/trace/graph.h>

#include <optional>
#include <unordered_map>
#include <unordered_set>
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

/// What autograd has recorded for fake tensors. Freed at the end: nodes and tensors that in-place operators wrote may
/// own each other, see Note [In-place cycles] (src/autograd/history.cpp).
class RecordedForFakes {
 public:
  RecordedForFakes() = default;
  ~RecordedForFakes();
  RecordedForFakes(const RecordedForFakes&) = delete;
  RecordedForFakes& operator=(const RecordedForFakes&) = delete;
  /// A tensor that an operator has returned, a wrapper or not.
  void add(const Tensor& t);

 private:
  void add(const intrusive_ptr<Node>& node);
  std::vector<intrusive_ptr<Node>> nodes_;  // all held, as one may own the next
  std::unordered_set<const Node*> seen_;
};

/// A fake tensor in a storage of its own.
Tensor fakeOf(const Graph::Spec& spec);

}  // namespace shunt::trace_detail
