// CompiledHistory: the nodes of a compiled function's results, one for each that requires grad (Note [Several results],
// parts.h), and the graph that gives what they save.
#pragma once

#include "src/compile/backward/compiled_backward.h"
#include "src/compile/backward/split_views.h"
#include "src/compile/backward/trailing_views.h"

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shunt::compiled {

/// Constant once made; any thread.
class CompiledHistory {
 public:
  /// Throws Error, saying why, where the graph's history has to be recorded by its operators. `outputs` are the fake
  /// results that were recorded; `name` is the function's.
  /// `checks`: whether backward passes are checked when they run.
  static std::unique_ptr<const CompiledHistory> make(const Graph& graph, const std::vector<Tensor>& outputs,
                                                     const std::string& name, bool checks);

  /// What runs the function: its outputs without a history, then results to save.
  const Graph& forward() const { return forward_; }
  /// Operators that were called, and their tables' fingerprints.
  const std::vector<std::pair<const Operator*, uint64_t>>& seen() const { return seen_; }
  /// What `forward`, which runs forward(), gives for these inputs: the function's outputs, some of them with their
  /// nodes. `stand_ins`: in the place of the graph's constants; null: none.
  detail::CompileOutputs run(const Executor& forward, std::span<const Tensor* const> inputs,
                             const StandIns* stand_ins) const;
  /// Whether the graph had better keep its history: CompiledBackward.
  bool isRunAgainTooOften() const;
  /// For people, where that is so: why.
  const char* whyNotCompiled() const;
  /// Adds how the backward passes are run. print(): their graphs, for people.
  void describe(std::vector<PlanDescription>& out) const;
  std::string print() const;

 private:
  struct Result {
    size_t output;        // of the graph: behind the function's, where several histories meet (Note [Several results])
    TrailingViews views;  // that the function makes of it, and returns in its place
    std::shared_ptr<CompiledBackward> backward;
    const SplitViews* split = nullptr;  // whose view it is, with the operator's node instead of a compiled one
  };
  /// What gives a result its node, or makes the views of one that has it.
  struct Step {
    size_t result;
    bool is_view;
    uint64_t place = 0;  // in the engine's order: Places
  };
  Parts findParts(Graph& graph);
  void addMeetings(Graph& graph, const std::vector<Graph::Value*>& meetings);
  void makeParts(const Graph& graph, const Parts& parts, const Places& places, const std::string& name, bool checks);
  void orderSteps(const std::vector<Tensor>& outputs);
  void placeSteps(const Graph& recorded, const Graph& graph, const Places& places);

  std::string nameOf(const Result& r) const;

  std::vector<Result> results_;  // in the order in which their nodes are made
  std::deque<SplitViews> splits_;
  std::vector<Step> steps_;  // in the order in which eager code makes nodes
  Graph forward_;
  size_t outputs_ = 0;   // of the function
  uint64_t places_ = 0;  // in the engine's order
  bool draws_ = false;
  std::vector<std::pair<const Operator*, uint64_t>> seen_;
};

}  // namespace shunt::compiled
