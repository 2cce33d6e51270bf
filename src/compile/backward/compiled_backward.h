// The backward pass of a compiled function's result, compiled: what a backward() outside of the function runs in the
// place of the nodes that eager code would have recorded.
//
// Note [Compiled backward passes]
// The history of a result that requires grad is recorded with the function, on fake tensors: for a gradient in
// row-major order, for one that was expanded (as sum() gives), and for one that lies as the result. No formula looks
// how the gradient lies, so that the nodes of the first of these passes, run one by one, are good for all others. The
// function then runs without history, and gives what the backward pass reads besides its results (Note [What is saved],
// split.h); the result gets one node, CompiledFunctionBackward.
//
// The node has an edge for each edge by which the history led to a leaf, in the order in which a backward pass would
// have added what came by these: so sums with what comes from elsewhere have the same bits. For the engine runs first
// what was recorded last: all nodes made of the result have run before any of its history does, and none but leaves'
// accumulators run between those.
//
// With create_graph, the node is unfolded (Note [Unfolded nodes], src/autograd/graph_task.h): it runs the function's
// graph again, with its history, the same random numbers and the places in the engine's order that its nodes would have
// had among those of the function (places.h); the engine goes through that history in the node's place. Under autocast,
// for a gradient that is a wrapper, and for one of another layout where some tensor gets several gradients, the node
// goes backward through such a history by itself, each time. What the graph was given is held for both, and has to be
// as it was; what the graph writes and doesn't read is left alone then (own_writes.h). One that reads what it has
// written into what it was given can't be run again: its operators record their history. A variant that is unfolded, or
// goes through its history often, is put out of use, and recorded with its history.
#pragma once

#include "src/compile/backward/parts.h"
#include "src/compile/backward/places.h"
#include "src/compile/backward/remade.h"
#include "src/compile/backward/split.h"
#include "src/compile/backward/sums.h"
#include "src/compile/checks/stand_ins.h"
#include "src/compile/program/plan.h"
#include "src/trace/recorded_results.h"

#include <shunt/compile/compile.h>
#include <shunt/core/function_ref.h>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shunt::compiled {

/// Constant once made; any thread. Shared by a variant and the nodes of its results.
class CompiledBackward : public std::enable_shared_from_this<CompiledBackward> {
 public:
  using Drawn = std::pair<std::pair<uint64_t, uint64_t>, std::pair<uint64_t, uint64_t>>;  // positions of the generator
  /// What the nodes of one call of the function have in common.
  struct Call {
    Drawn drawn;
    uint64_t first_place;                             // of the function's history, in the engine's order
    std::shared_ptr<std::atomic<bool>> any_unfolded;  // of several; null: there is one
  };
  using Layouts = std::vector<std::vector<std::pair<const CompiledBackward*, Graph::Spec>>>;

  /// Of the graph's output `output`, as far as the outputs `others`. Throws Error, saying why, where the graph's
  /// history has to be recorded by its operators. `name` is the function's, `places` the function's history's; `joint`:
  /// set to the first pass with the graph. `checks`: whether its passes are checked when they run.
  static std::shared_ptr<CompiledBackward> make(const Graph& graph, size_t output, std::vector<size_t> others,
                                                std::string name, const Places& places, bool checks,
                                                std::optional<Joint>& joint);

  const std::vector<SavedValue>& saved() const { return saved_; }
  /// `layouts`: how gradients lie that come from several nodes of the function's, as far as it is known, and from
  /// which: to given tensors, then to outputs. Throws Error where they don't all lie alike.
  void addsBesideOthers(const Parts& parts, Layouts& layouts);
  /// `place`: where among the results of what runs the function a saved value is.
  void setSources(FunctionRef<size_t(const SavedValue&)> place);
  /// Gives the result its node, which takes the next place in the engine's order. `made`: what runs the function has
  /// given for these inputs. `stand_ins`: in the place of the graph's constants; null: none.
  void addNode(detail::CompileOutputs& made, std::span<const Tensor* const> inputs, const Call& call,
               const StandIns* stand_ins) const;
  /// Whether the graph has been run again for backward() so often, or with create_graph, that it had better keep its
  /// history.
  bool isRunAgainTooOften() const { return again_.load(std::memory_order_relaxed) >= kMostAgain; }
  /// Whether an operator of a pass has given other results than were recorded.
  bool gaveOtherResults() const { return gave_others_.load(std::memory_order_relaxed); }
  /// How its passes are run; `result`: before their names.
  void describe(const std::string& result, std::vector<PlanDescription>& out) const;
  /// For people: the graphs of its passes.
  std::string print() const;

 private:
  class BackwardNode;
  static constexpr int kMostAgain = 8;
  /// For gradients that lie in one way; without strides for all others.
  struct Pass {
    std::optional<std::vector<int64_t>> strides;
    std::unique_ptr<const Plan> plan;  // null where it has no strides: a plan is for tensors that lie as its graph's
    Graph graph;                       // of the saved values, then of those that the plan makes again
    std::vector<JointContribution> contributions;  // one for each edge of the node
    std::vector<Sum> sums;
    std::unique_ptr<const Plan> summed;        // gives these: Note [Sums in the pass]; null where there are none
    std::vector<JointContribution> with_sums;  // what that one gives
    std::string title() const;
  };
  /// Where a saved tensor comes from: number of a given one, or of what forward() gives.
  struct SavedSource {
    bool is_given;
    size_t number;
    bool operator==(const SavedSource&) const = default;
  };
  CompiledBackward(const Graph& graph, std::string name) : name_(std::move(name)), graph_(graph.clone()) {}
  void addPass(const Joint& joint, bool of_any_layout);
  const Pass* passFor(const Tensor& gradient) const;
  const Tensor& given(size_t i, std::span<const Tensor* const> inputs, const StandIns* stand_ins) const {
    if (i < inputs.size()) return *inputs[i];
    const Tensor& t = constants_[i - inputs.size()];
    return stand_ins != nullptr ? stand_ins->of(t) : t;
  }

  /// An operator of a pass has: no pass runs again. The first time, there is a warning.
  void leave(const trace_detail::OtherResults& other) const;

  /// For people: of what gets gradients.
  std::string nameOf(size_t given) const;

  const std::string name_;
  Graph graph_;                   // the function's, without views of its results
  Graph graph_again_;             // what is run for a backward pass: without its own writes, `others_` as inputs
  std::vector<bool> read_again_;  // by given tensor, then `others_`: whether that reads it
  std::vector<Tensor> constants_;
  size_t output_ = 0;
  std::vector<size_t> others_;
  std::vector<SavedValue> saved_;
  std::optional<const Remade> remade_;
  std::vector<SavedSource> sources_;  // of saved_, then of what else running the graph again needs
  std::vector<Pass> passes_;
  bool adds_ = false;  // several gradients, for one of the given tensors
  OwnAdditions own_additions_;
  std::vector<uint64_t> places_again_;  // of graph_again_'s nodes: Places
  ScalarType default_dtype_;
  mutable std::atomic<int> again_{0};  // times that the graph was run again
  mutable std::atomic<bool> gave_others_{false};
  bool draws_ = false, checks_ = false;
  std::vector<std::pair<const Operator*, uint64_t>>
      seen_;  // operators that were called, and their tables' fingerprints
};

}  // namespace shunt::compiled
