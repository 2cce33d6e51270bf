// Runs a graph's nodes one after the other: for Graph::run, and for passes that run one on other tensors. A local
// value.
#pragma once

#include <shunt/core/function_ref.h>
#include <shunt/trace/graph.h>

namespace shunt::trace_detail {

class Interpreter {
 public:
  /// `given`: the tensor of an input or constant.
  Interpreter(const Graph& graph, FunctionRef<Tensor(const Graph::Value&)> given);
  /// Calls all nodes. `after`: what is done with a node's returns, the stack's values.
  void run(FunctionRef<void(const Graph::Node&, Stack&)> after);
  /// The tensor of an output; undefined for null.
  Tensor output(const Graph::Value* value) const;

 private:
  void release(const Graph::Node& node, size_t position);
  void keep(const Graph::Node& node, const Stack& returns);
  Tensor& at(const Graph::Value* value) { return tensors_[static_cast<size_t>(value->id)]; }

  std::vector<Graph::Node*> nodes_;
  std::vector<Tensor> tensors_;     // by the value's id
  std::vector<size_t> last_users_;  // by id: the node after which the tensor is dropped
};

/// Runs a graph. Throws OtherResults (Note [Recorded results], recorded_results.h). `after`: what is done with a node's
/// returns, the stack's values.
std::vector<Tensor> runGraph(const Graph& graph, const std::vector<Tensor>& inputs,
                             FunctionRef<void(const Graph::Node&, Stack&)> after);

/// The same for a caller that runs nothing in the graph's place: throws Error instead, which no graph around the call
/// takes for a result of its own operators.
std::vector<Tensor> runGraphAlone(const Graph& graph, const std::vector<Tensor>& inputs,
                                  FunctionRef<void(const Graph::Node&, Stack&)> after);

/// A node's arguments for its operator; `tensors` by the ids of values.
Stack stackOf(const Graph::Node& node, const std::vector<Tensor>& tensors);

}  // namespace shunt::trace_detail
