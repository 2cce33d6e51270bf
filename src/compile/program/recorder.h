// Recorder: runs the steps of a plan's first run, and notes what the pointwise ones and those along rows compute, as
// loops that give the same bits without their operators. A local value of that run.
#pragma once

#include "src/compile/passes/aliases.h"
#include "src/compile/regions/pointwise_node.h"
#include "src/compile/regions/row_node.h"
#include "src/compile/steps/frame.h"
#include "src/compile/steps/step.h"

#include <exception>
#include <span>
#include <vector>

namespace shunt::compiled {

/// What a run can do without: where there is no memory for it, the nodes stay on their own.
template <class F>
void withoutMemoryToo(F&& f) {
  try {
    f();
  } catch (const std::exception&) {  // std::bad_alloc, or the allocator's error; a message would take memory too
  }
}

class Recorder {
 public:
  explicit Recorder(const Aliases& aliases) : aliases_(aliases) {}
  /// Runs the step.
  void operator()(const Step& step, Frame& frame, trace_detail::ModesScope& modes);
  std::vector<PointwiseNode> found;
  std::vector<RowNode> rows;

 private:
  void callRows(const Step& step, Frame& frame, trace_detail::ModesScope& modes);
  void callCast(const Step& step, Frame& frame, trace_detail::ModesScope& modes);

  const Aliases& aliases_;
};

}  // namespace shunt::compiled
