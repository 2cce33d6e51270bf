// A variant of a compiled function: the graph, what runs it, and when it may. Made once, by the thread that records;
// then read-only but for `retired`, `checked` and `is_in_use`, which any thread sets, its runs, checks and trials, and
// what `backward` counts.
#pragma once

#include "src/compile/backward/compiled_history.h"
#include "src/compile/checks/schedule.h"
#include "src/compile/guards/guard.h"
#include "src/compile/program/executor.h"
#include "src/compile/worth/graph_trial.h"
#include "src/tiering/function_tally.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shunt {

class detail::CompiledFunction::Variant {
 public:
  /// The outputs, with the history that they have left.
  CompileOutputs run(const CompileArguments& arguments) const { return runFor(arguments, nullptr); }
  /// The same for the arguments' stand-ins, with others in the place of captured tensors.
  CompileOutputs runApart(const CompileArguments& arguments, const compiled::StandIns& stand_ins) const {
    return runFor(arguments, &stand_ins);
  }
  /// Whether every operator that was called when it was recorded is registered as it was then. Cheap while nothing
  /// was registered at all.
  bool isCurrent() const;
  /// How the graph is run, then its backward passes.
  std::vector<PlanDescription> plans() const;
  /// Writes graph and plan to the files of `dumped`.
  void dump() const;

  std::shared_ptr<void> result;
  Graph graph;
  std::unique_ptr<compiled::Executor> executor;
  std::unique_ptr<compiled::Guard> guard;
  std::unique_ptr<const compiled::CompiledHistory> backward;  // null: results bring the history that the graph records
  std::string why_no_backward;                                // where some do
  std::vector<Tensor> captured;
  std::vector<std::string> ended;  // of each output: what its backward() throws; empty: none
  bool any_ended = false;
  std::vector<std::pair<const Operator*, uint64_t>> relies;  // operators, and their tables' fingerprints
  mutable std::atomic<uint64_t> checked{0};                  // detail::table_changes when these were compared last
  mutable std::atomic<bool> retired{false};
  mutable std::string why_left;    // guarded by the owner's mutex: other results than were recorded; empty: none
  bool takes_all = true;           // the arguments' tensors are all defined: the graph's inputs
  bool has_effects = false;        // besides its results
  jit::GraphRuns* runs = nullptr;  // of the function's tally
  mutable compiled::CheckSchedule schedule;
  mutable compiled::GraphTrial trial;
  mutable std::atomic<bool> is_in_use{false};  // neither retired nor slower than the function
  std::vector<std::string> errors;             // that the function caught
  CompileKind kind;                            // of the calls that it is for
  uint64_t hash_of_sizes = 0;
  const Variant* next = nullptr;  // of the same list: Note [Variants]
  std::string dumped;             // SHUNT_JIT_DUMP: the path of its files without their suffixes; empty: none

 private:
  CompileOutputs runFor(const CompileArguments& arguments, const compiled::StandIns* stand_ins) const;
  CompileOutputs runOn(std::span<const Tensor* const> inputs, const compiled::StandIns* stand_ins) const;
};

namespace compiled {

using Variant = detail::CompiledFunction::Variant;
/// Composites whose parts plans know better: all of the library's own but one that rows are known of.
bool isRecordedInParts(const OperatorHandle& op);

using RecordFn = FunctionRef<std::shared_ptr<void>(detail::TraceCall&, const std::vector<Tensor>&)>;

/// The function puts tensors that it has made where they outlive it: each recording would leave dead ones there.
struct KeepsTensors : Error {
  using Error::Error;
};

/// An operator was registered while the function was recorded, which says nothing of the function.
struct RegisteredMeanwhile : Error {
  using Error::Error;
};

/// An argument is part of a graph from outside, or has hooks, and the function's backward pass is not compiled.
struct KeepsHistory : Error {
  using Error::Error;
};

/// Records the function on fake tensors: nothing is computed, and no tensor is written. Throws what the function throws
/// then, KeepsTensors, KeepsHistory, and Error for what else can't be a variant, saying why.
/// `why_no_backward`: why backward passes of its results are not compiled; null: they are, where that can be.
std::unique_ptr<Variant> recordVariant(const detail::CompileArguments& arguments, const CompileOptions& options,
                                       RecordFn record, const char* why_no_backward);

}  // namespace compiled
}  // namespace shunt
