// Plan: the Executor of a graph whose tensors have fixed sizes. The first run calls the nodes one by one and records
// what the pointwise ones compute; later runs do these in loops over blocks of elements, and call the rest through the
// operators' tables without what records history that nobody sees (Note [History that nobody sees], history.cpp).
//
// Note [What a plan relies on]
// That a kernel computes what it did when it was recorded, and that Autograd's wrapper of an operator only records.
// Both stand in the operators' tables: holds() compares the versions of the entries. A plan that doesn't hold runs all
// nodes through the dispatcher, as Graph::run does; whoever owns it makes a new one.
// Steps that find nothing unusual are done without a look at their operator's table (Step::quick), as regions' nodes
// are. Each first compares table_changes with what the run was checked at, so that a registration which has returned,
// on this thread or another, is seen as by a call's own look, and so is tracing of calls.
#pragma once

#include "src/compile/program/executor.h"
#include "src/compile/program/program.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace shunt::compiled {

struct PlanOptions {
  /// Whether outputs that require grad bring their grad_fn, as Graph::run's do.
  bool history_of_outputs = true;
  /// Whether outputs that are views are noted as such, where what they are views of is the graph's own.
  bool views_of_outputs = true;
  /// Runs of a region before native code of it is asked for; 0: as many as calls of a pair before it is compiled.
  int64_t native_after = 0;
  /// Whether the caller compares inputs and constants with the graph's before each run, their keys and strides too.
  bool guarded = false;
  /// Operators that recording the graph has called, and that these have called. Empty: those of the nodes.
  std::vector<const Operator*> seen = {};
  /// Whether results of the program's kernels need the recorded strides also where no node relies on them, as the
  /// function that was recorded may have asked for them.
  bool compares_strides = false;
  /// Whether the caller knows from the recording which outputs share memory with inputs.
  bool describes_outputs = false;
  /// By output: the index of a tensor behind the graph's inputs, which runs are given as well and whose memory nothing
  /// else has. The output is that tensor where a loop or prepared step makes it, else the caller copies it. It lies as
  /// the output does: row-major, unless a host step makes it. -1: a new tensor. Empty: all are new.
  std::vector<int> into = {};
};

class SHUNT_API Plan : public Executor {
 public:
  explicit Plan(const Graph& graph, const PlanOptions& options = {});
  ~Plan() override;

  detail::CompileOutputs runOn(std::span<const Tensor* const> inputs) const override;
  detail::CompileOutputs runApart(std::span<const Tensor* const> inputs, const StandIns& stand_ins) const override;
  /// The same for any inputs: throws Error where they aren't the graph's.
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;
  PlanDescription description() const override;
  std::string describe() const { return description().text(); }
  /// Whether what it relies on still stands. Any thread.
  bool holds() const;

  struct Counts {
    size_t steps = 0, regions = 0, nodes_in_regions = 0;
    size_t prepared = 0;                   // steps outside of regions, host steps too
    size_t host_steps = 0;                 // that are prepared or not
    size_t buffers = 0, buffer_bytes = 0;  // Note [Buffers]
  };
  /// Of the program in force; no regions before the first run.
  Counts counts() const;

 private:
  struct ReliedOn {
    const Operator* op;
    int slot;
    uint64_t version;
  };
  bool holdsAt(uint64_t changes) const;
  bool tablesStand() const;
  void relyOn(const Operator& op, DispatchKeySet keys);
  /// On what callsOwn() saw of both (guards/own_calls.h).
  void relyOnCalls(const Operator& op, const Operator& below);
  void relyOn(const Operator& op, int slot);
  void checkInputs(std::span<const Tensor> inputs) const;
  using Inputs = std::span<const Tensor* const>;
  using Constants = std::span<const Tensor>;
  detail::CompileOutputs runWith(Inputs inputs, Constants constants) const;
  detail::CompileOutputs runProgram(const Program& program, Inputs inputs, Constants constants, bool fuse,
                                    uint64_t changes) const;
  detail::CompileOutputs runAndRecord(Inputs inputs, Constants constants, uint64_t changes) const;
  detail::CompileOutputs runGraph(Inputs inputs, Constants constants) const;
  const Program& program() const;
  void noteBuffers(bool stayed) const;
  const Program& programFor(const Program& fused, bool plain) const;
  const Program& makeWithoutBuffers(const Program& fused) const;
  std::unique_ptr<const Program> makeFused(bool buffers) const;

  Graph graph_;
  Aliases aliases_;
  History history_;
  std::vector<Tensor> constants_;
  std::vector<ReliedOn> relied_on_;  // constant
  const bool compares_strides_;
  const ExpectedResults expected_;
  const ProgramOptions program_options_;
  Program single_;                                          // without regions
  mutable std::atomic<uint64_t> checked_at_{~uint64_t{0}};  // table_changes when the tables were compared
  mutable std::mutex recording_;                            // held by the run that records
  mutable std::vector<PointwiseNode> recorded_;             // what fused_owner_ was made of
  mutable std::vector<RowNode> recorded_rows_;              // the same
  mutable std::unique_ptr<const Program> fused_owner_;
  mutable std::atomic<const Program*> fused_{nullptr};  // fused_owner_ (release, acquire)
  // Note [Buffers], buffers.h.
  mutable std::atomic<int> left_buffers_{0};                      // grows with runs that do, and falls with others
  mutable std::unique_ptr<const Program> without_buffers_owner_;  // guarded by recording_; set once
  mutable std::atomic<const Program*> without_buffers_{nullptr};  // its (release, acquire)
};

}  // namespace shunt::compiled
