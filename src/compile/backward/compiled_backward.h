// The backward pass of a compiled function's results, compiled: what a backward() outside of the function runs in the
// place of the nodes that eager code would have recorded.
//
// Note [Compiled backward passes]
// The history of the results that require grad is recorded with the function, on fake tensors, for gradients in
// row-major order, and for one that was expanded (as sum() gives). The function then runs with no history at all, and
// gives what the backward pass reads besides its results (Note [What is saved], split.h); the results get one node,
// CompiledFunctionBackward. It has an edge for each edge by which the history led to a leaf, in the order in which a
// backward pass would have added what came by these: so sums with what comes from elsewhere have the same bits. For the
// engine runs what was recorded last first: all that is made of the results is done with before their history begins,
// and nothing comes between its nodes. With create_graph, under autocast, and for gradients that lie otherwise, the
// node runs the function's graph again, with its history and the same random numbers, and backward through that one. A
// graph that writes into what it was given can't be run again: its operators record their history.
#pragma once

#include "src/compile/backward/split.h"
#include "src/compile/program/plan.h"

#include <shunt/compile/compile.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shunt::compiled {

/// Constant once made; any thread. Shared by a variant and the nodes of its results.
class CompiledBackward : public std::enable_shared_from_this<CompiledBackward> {
 public:
  /// Throws Error, saying why, where the graph's history has to be recorded by its operators. `outputs` are the fake
  /// results that were recorded.
  static std::shared_ptr<const CompiledBackward> make(const Graph& graph, const std::vector<Tensor>& outputs);

  /// What runs the function: its outputs without a history, then results to save.
  const Graph& forward() const { return forward_; }
  /// Operators that were called, and their tables' fingerprints.
  const std::vector<std::pair<const Operator*, uint64_t>>& seen() const { return seen_; }
  /// What `forward`, which runs forward(), gives for these inputs: the function's outputs, some of them with their
  /// node.
  detail::CompileOutputs run(const Executor& forward, std::span<const Tensor* const> inputs) const;
  /// For people: how the backward pass is run.
  std::string describe() const;

 private:
  class BackwardNode;
  using Drawn = std::pair<std::pair<uint64_t, uint64_t>, std::pair<uint64_t, uint64_t>>;  // positions of the generator
  /// For gradients that lie in one way.
  struct Pass {
    std::vector<GradientLayout> gradients;
    std::unique_ptr<Plan> plan;
    std::vector<JointContribution> contributions;  // one for each edge of the node, in the order of these
    std::vector<int> outputs;                      // by edge of the node: of the plan; -1: none arrives
  };
  /// Where a saved tensor comes from: number of a given one, or of what forward() gives.
  struct SavedSource {
    bool is_given;
    size_t number;
  };
  explicit CompiledBackward(const Graph& graph) : graph_(graph.clone()) {}
  void setForward(const Joint& joint);
  void addPass(const Joint& joint, std::vector<GradientLayout> gradients);
  const Pass* passFor(std::span<const Tensor> gradients) const;
  const Tensor& given(size_t i, std::span<const Tensor* const> inputs) const {
    return i < inputs.size() ? *inputs[i] : constants_[i - inputs.size()];
  }
  bool isResult(size_t output) const;

  Graph graph_;    // the function's
  Graph forward_;  // what runs in its place
  std::vector<Tensor> constants_;
  std::vector<size_t> results_;  // outputs that require grad
  std::vector<SavedValue> saved_;
  std::vector<SavedSource> sources_;  // of saved_, then of the inputs that are not among these
  std::vector<size_t> ends_;          // by edge of the node: the given tensor that it leads to
  std::vector<size_t> edge_of_;       // by number of an edge of the history: that of the node
  std::vector<Pass> passes_;
  bool draws_ = false;
  std::vector<std::pair<const Operator*, uint64_t>> seen_;
};

}  // namespace shunt::compiled
