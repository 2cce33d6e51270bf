// Program: the steps and regions of a plan in the order in which they run, with the places of all tensors. Constant
// once made; run() may be called by any threads, each with a frame of its own.
#pragma once

#include "src/compile/block_loop.h"
#include "src/compile/executor.h"
#include "src/compile/history.h"
#include "src/compile/native_loop.h"
#include "src/compile/regions.h"
#include "src/compile/row_stages.h"
#include "src/compile/step.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shunt::compiled {

/// A region with its loop. Where its inputs aren't what they were when it was recorded (sizes that depend on elements),
/// its nodes run one by one.
struct Region {
  struct Input {
    Source source;
    uint16_t signature;
    uint64_t keys;
    std::vector<int64_t> sizes;
    bool guarded;  // the caller has compared it, and nothing before the region changes what it shows
  };
  struct Written {
    size_t input;
    int64_t times;  // that its version grows
  };
  struct Output {
    uint32_t slot;
    ScalarType dtype;
    int64_t times_written;  // after it was made
    int takes = -1;         // the input that nobody reads afterwards and whose tensor may become this one
  };
  std::vector<Input> inputs;
  std::vector<uint16_t> compared;  // inputs that aren't guarded
  std::vector<Output> outputs;
  std::vector<Written> written;
  std::vector<int64_t> sizes, strides;  // of outputs
  BlockLoop loop;
  std::unique_ptr<const NativeLoop> native;  // of the same
  std::unique_ptr<const RowStages> rows;     // instead of both, with a node along rows
  std::vector<uint32_t> last;                // slots that nobody reads afterwards
  size_t first_step = 0, steps = 0;
  int64_t bytes = 0;       // read and written
  bool unchecked = false;  // all inputs are guarded, and none is written
  bool plain = false;      // nothing is written, and no slot dies: once the loop has run, all is done
  int like = -1;           // an input of the outputs' sizes; -1: none is known

  /// False: nothing was done.
  bool run(Frame& frame) const;
  /// For a region that is all of its program (Program::is_one_loop): no frame is needed.
  detail::CompileOutputs runAlone(std::span<const Tensor* const> given, std::span<const Tensor> constants) const;

 private:
  Tensor newOutput(const TensorImpl* shape_of, ScalarType dtype) const;
  void runLoop(std::byte* const* operands) const {
    if (rows != nullptr)
      rows->run(operands);
    else
      native->run(operands, loop);
  }
  bool mayTake(const Tensor& t, const Output& out) const;
  /// Of the inputs' tensors.
  bool fits(const TensorImpl* const* given) const;
  bool writtenAreApart(const TensorImpl* const* given) const;
};

struct Program {
  std::vector<std::unique_ptr<const Graph::Modes>> modes;  // each once
  std::vector<Step> steps;
  std::vector<Region> regions;
  std::vector<int> region_at;   // by step: the region that begins there, or -1
  std::vector<bool> in_region;  // by step
  size_t slots = 0;
  size_t kept_slots = 0;  // those before are used where regions run as loops; the others only where their nodes do
  struct Output {
    Source source;
    bool defined;
    bool moved;  // out of its slot
  };
  std::vector<Output> outputs;
  bool is_one_loop = false;  // a region, plain and unchecked, whose results are the outputs, in their order

  /// `fuse`: whether regions run as loops. `on_step`: called instead of callStep, unless it is null.
  template <class F>
  void run(Frame& frame, bool fuse, F&& on_step) const {
    std::optional<trace_detail::ModesScope> modes;
    const Graph::Modes* on = nullptr;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (fuse && region_at[i] >= 0) {
        const Region& region = regions[static_cast<size_t>(region_at[i])];
        // Of the thread's settings a region's new tensors depend on this one only.
        if ((detail::tls_state.mode & detail::kModeInference) != 0) {
          if (!modes) modes.emplace();
          modes->set(*(on = steps[i].modes));
        }
        if (region.run(frame)) {
          i += region.steps - 1;
          continue;
        }
      }
      const Step& step = steps[i];
      if (step.quick == nullptr || !frame.mayBeQuick() || !step.quick(step, frame)) {
        if (in_region[i]) frame.useAll();
        if (!modes) modes.emplace();
        const auto call = [&](const Step& called) {
          if (called.modes != on) modes->set(*called.modes);
          on = called.modes;
          on_step(called, frame, *modes);
        };
        makeLate(step, frame, call);
        call(step);
      } else if (step.view >= 0) {
        ++i;
      }
      for (const uint32_t slot : step.dead) frame.slot(slot).reset();
    }
  }
  /// Makes the operands that the step's like on their quick ways do without.
  template <class F>
  void makeLate(const Step& step, Frame& frame, const F& call) const {
    for (const uint32_t position : step.late) {
      const Step& view = steps[position];
      if (frame.slot(static_cast<size_t>(view.results[0].slots[0])).defined()) continue;
      makeLate(view, frame, call);
      call(view);
    }
  }
  bool isOneLoop() const;
  detail::CompileOutputs resultsOf(Frame& frame) const;
  std::string describe() const;
};

struct ProgramOptions {
  int64_t native_after = 0;        // as PlanOptions'
  bool inner_only_record = false;  // Autograd's kernels of all operators that the nodes' operators call
  bool guarded = false;            // as PlanOptions'
};

/// Runs the groups in this order. Nodes are the graph's, which outlives the program.
Program makeProgram(const Graph& graph, const Aliases& aliases, const History& history,
                    const std::vector<Group>& groups, const ProgramOptions& options = {});

}  // namespace shunt::compiled
