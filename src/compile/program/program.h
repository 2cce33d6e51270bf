// Program: the steps and regions of a plan in the order in which they run, with the places of all tensors. Constant
// once made; run() may be called by any threads, each with a frame of its own.
#pragma once

#include "src/compile/program/placement.h"
#include "src/compile/program/region.h"
#include "src/compile/steps/quick_counts.h"
#include "src/compile/steps/view_step.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shunt::compiled {

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
  /// A result that lies in a buffer.
  struct Buffer {
    const Graph::Value* value;
    uint32_t index, slot;
    size_t made, last;  // positions: of the unit that makes it, and the last one that reads it
  };
  std::vector<Buffer> buffers;
  size_t buffer_bytes = 0;   // of all
  bool is_one_loop = false;  // a region, plain and unchecked, whose results are the outputs, in their order

  /// What runs at a time where nothing is unusual: a region, or a step on its quick way, behind steps that have nothing
  /// to do there. Few bytes, as a run reads all of them, and has little else in the nearest cache.
  struct Unit {
    const Region* region = nullptr;
    const Step* step = nullptr;     // where that is null
    uint32_t begin = 0, end = 0;    // the steps that it is
    uint16_t views = 0, grads = 0;  // of them, with nothing to do
  };
  std::vector<Unit> units;  // all steps, in their order

  /// `fuse`: whether regions run as loops. `on_step`: called instead of callStep, unless it is null.
  template <class F>
  void run(Frame& frame, bool fuse, F&& on_step) const {
    Settings settings;
    if (!fuse) return runSteps(0, steps.size(), nullptr, frame, settings, on_step);
    for (const Unit& unit : units)
      if (!runQuickly(unit, frame)) runSteps(unit.begin, unit.end, region_at.data(), frame, settings, on_step);
  }
  bool isOneLoop() const;
  detail::CompileOutputs resultsOf(Frame& frame) const;
  PlanDescription description() const;

 private:
  /// The thread's, which steps that are called change.
  struct Settings {
    std::optional<trace_detail::ModesScope> scope;
    const Graph::Modes* on = nullptr;
    void set(const Graph::Modes& modes) {
      if (!scope) scope.emplace();
      if (&modes != on) scope->set(modes);
      on = &modes;
    }
  };

  /// False: nothing is done.
  bool runQuickly(const Unit& unit, Frame& frame) const {
    const bool passes = unit.views + unit.grads != 0;
    if ((unit.region == nullptr || passes) && !frame.mayBeQuick()) return false;
    if (unit.region != nullptr) {
      if (!frame.isUnchanged() || (detail::tls_state.mode & detail::kModeInference) != 0 || !unit.region->run(frame))
        return false;
    } else {
      const Step& step = *unit.step;
      if (step.quick == nullptr || !step.quick(step, frame)) return false;
      for (const uint32_t slot : step.dead) frame.slot(slot).reset();
    }
    if (passes) {
      quick_counts.views += unit.views;
      quick_counts.grads += unit.grads;
    }
    return true;
  }
  /// `at`: which regions begin where, or null: none is run as a loop.
  template <class F>
  void runSteps(size_t i, size_t end, const int* at, Frame& frame, Settings& settings, F&& on_step) const {
    const auto call = [&](const Step& called) {
      settings.set(*called.modes);
      on_step(called, frame, *settings.scope);
    };
    for (; i < end; ++i) {
      const Step& step = steps[i];
      if (at != nullptr && at[i] >= 0 && frame.isUnchanged()) {
        const Region& region = regions[static_cast<size_t>(at[i])];
        // Of the thread's settings a region's new tensors depend on this one only.
        if ((detail::tls_state.mode & detail::kModeInference) != 0) settings.set(*step.modes);
        if (region.run(frame)) {
          i += region.steps - 1;
          continue;
        }
      }
      if (at != nullptr && at[i] >= 0 && regions[static_cast<size_t>(at[i])].in_buffers) leaveBuffers(frame, i);
      if (step.quick == nullptr || !frame.mayBeQuick() || !step.quick(step, frame)) {
        if (in_region[i]) frame.useAll();
        if (step.in_buffers) leaveBuffers(frame, i);
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
    if (!step.late.empty()) frame.useAll();
    for (const uint32_t position : step.late) {
      const Step& view = steps[position];
      if (frame.slot(static_cast<size_t>(view.result)).defined()) continue;
      makeLate(view, frame, call);
      if (!makeLateView(view, frame)) call(view);
    }
  }
  /// Copies those that the steps from `position` on read into tensors, which the rest of the run has instead.
  void leaveBuffers(Frame& frame, size_t position) const;
};

/// Runs the groups in this order. Nodes are the graph's, which outlives the program. It has buffers where
/// `options.buffers` says so.
Program makeProgram(const Graph& graph, const Aliases& aliases, const History& history,
                    const std::vector<Group>& groups, const ProgramOptions& options = {});

}  // namespace shunt::compiled
