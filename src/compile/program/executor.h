// What runs a compiled graph: Executor, made once for a graph, run for each call.
//
// runOn() may be called by several threads at once where the graph writes to none of its constants and inputs.
#pragma once

#include <shunt/compile/compile.h>
#include <shunt/compile/plan_description.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shunt::compiled {

class StandIns;

class Executor {
 public:
  virtual ~Executor() = default;
  /// What Graph::run() would give and do, to the bit: the outputs, undefined ones too, writes to inputs and constants,
  /// versions, aliases, random numbers drawn. Inputs have the graph's dtypes, devices, sizes and strides, and share
  /// memory as the graph's do. A node runs with the modes that it was recorded with; the caller's other settings hold.
  virtual detail::CompileOutputs runOn(std::span<const Tensor* const> inputs) const = 0;
  /// The same with others in the place of the graph's constants.
  virtual detail::CompileOutputs runApart(std::span<const Tensor* const> inputs, const StandIns& stand_ins) const = 0;
  virtual PlanDescription description() const = 0;
};

}  // namespace shunt::compiled
