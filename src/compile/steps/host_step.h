// Host steps that are called without their operator: with the addresses of what they read, wherever that lies, and of
// results that are tensors, parts of the run's block of memory, or given.
#pragma once

#include "src/compile/passes/host_node.h"
#include "src/compile/steps/prepared_step.h"

#include <shunt/core/inline_vector.h>

#include <vector>

namespace shunt::compiled {

class PreparedHostStep : public PreparedStep {
 public:
  struct Result {
    int slot = -1;        // where its tensor is kept; -1: nobody reads it
    int64_t buffer = -1;  // where it lies instead of in a tensor (Note [Buffers])
    int into = -1;        // the given tensor that it is (ProgramOptions::into)
  };
  PreparedHostStep(const Graph::Node& node, std::vector<Place> inputs, std::vector<Result> results);
  bool run(const Frame& frame, std::byte* const* out) const override;
  /// Makes the results and keeps them. False: nothing was done.
  bool runIn(Frame& frame) const;

 private:
  using Addresses = InlineVector<void*, 16>;
  bool findInputs(const Frame& frame, Addresses& found) const;
  void call(const Addresses& inputs, std::byte* const* out) const;

  const IValue shared_;  // keeps the function
  const HostFunction& function_;
  const std::vector<Place> inputs_;
  const std::vector<Result> results_;
};

/// Gives the step, whose node is a host step, its quick call. `inputs`, `results`: in the order of the host's step.
void prepareHostStep(Step& step, std::vector<PreparedStep::Place> inputs,
                     std::vector<PreparedHostStep::Result> results);

}  // namespace shunt::compiled
