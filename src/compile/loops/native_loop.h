// NativeLoop: a region's loop as one native function, all steps for an element before the next one, instead of the
// interpreter's loops block by block (block_loop.h). The bits are the same.
//
// A region's block loop counts its runs here, large ones several times. When it has run as often as makes a pair hot,
// its fused loop is asked for, and taken as soon as it is compiled; meanwhile, and where there is none, the block loop
// goes on. Where the answer is late, it is asked for again each time the runs have doubled: Note [States of a fused
// loop] (src/tiering/fused_loops.h). What the disk cache has costs no compile, so the first run asks for that.
//
// Any threads may run it; the operands' memory is the caller's.
#pragma once

#include "src/compile/loops/block_loop.h"
#include "src/compile/loops/trial.h"
#include "src/tiering/fused_loops.h"

#include <shunt/compile/plan_description.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace shunt::compiled {

class NativeLoop {
 public:
  /// For the region whose block loop this is. `after`: runs before its code is asked for; 0: as for pairs.
  NativeLoop(const BlockLoop& loop, int64_t after);

  /// `operands` as for the block loop, which is run where there is no native code now, or where that is slower.
  void run(std::byte* const* operands, const BlockLoop& blocks) const {
    const jit::FusedLoop* loop = loop_.load(std::memory_order_acquire);
    const jit::FusedLoopFn function = loop != nullptr ? loop->function() : nullptr;
    if (function != nullptr && trial_.verdict() == Trial::Verdict::kNative) [[likely]]
      return runWith(function, operands);
    runElse(function, operands, blocks);
  }
  /// The same of some of its rows, at these addresses, on this thread. `comparable`: as many as in most runs, so that
  /// their times may be compared.
  void runRows(std::byte* const* operands, const BlockLoop& blocks, int64_t count, bool comparable) const;
  PlanCode describe() const;

 private:
  static constexpr size_t kMost = BlockLoop::kMaxPlaces;
  struct Operands {  // in the order of the spec's lists
    std::vector<uint16_t> places;
    std::vector<int64_t> inner, outer;
    size_t size() const { return places.size(); }
    void add(uint16_t place, const BlockLoop::Place& like);
    /// Whether they are neighbouring places in their order.
    bool areNeighbours() const;
    /// Whether several rows of so many elements are one longer row of each.
    bool areJoined(int64_t columns) const;
  };
  using Addresses = std::byte* [kMost];

  void addStep(const BlockLoop& loop, const BlockLoop::Instruction& i, std::vector<int>& step_of,
               std::vector<int>& input_of);
  void addOutputs(const BlockLoop& loop, const std::vector<int>& step_of);
  jit::FusedOperand inputAt(const BlockLoop& loop, uint16_t place, std::vector<int>& input_of);
  void runElse(jit::FusedLoopFn function, std::byte* const* operands, const BlockLoop& blocks) const;
  template <class Native, class Blocks>
  void tryBoth(jit::FusedLoopFn function, int64_t rows, const Native& native, const Blocks& blocks) const;
  jit::FusedLoopFn count(int64_t rows) const;
  void runWith(jit::FusedLoopFn function, std::byte* const* operands) const {
    if (small_) [[likely]]
      callOn(function, operands, rows_);
    else
      runParts(function, operands);
  }
  void runParts(jit::FusedLoopFn function, std::byte* const* operands) const;
  void place(std::byte* const* operands, Addresses& in, Addresses& out) const;
  void callOnPlaced(jit::FusedLoopFn function, std::byte* const* operands, int64_t columns, int64_t rows) const;
  void callOn(jit::FusedLoopFn function, std::byte* const* operands, int64_t rows) const;

  jit::FusedLoopSpec spec_;
  Operands inputs_, outputs_;
  std::vector<elementwise::ScalarSlot> scalars_;
  std::vector<BlockLoop::Number> numbers_;
  size_t given_ = 0;  // operands; the places of numbers follow
  int64_t rows_ = 1, columns_ = 0;
  bool small_ = true;  // too few elements for several threads
  bool rows_join_ = false;
  bool in_order_ = false;    // the addresses that are given begin with the inputs', as the code wants them
  size_t first_output_ = 0;  // then: where among them the outputs' begin, which may be inputs'

  mutable Trial trial_;
  const int64_t after_;                                 // runs before code is compiled
  mutable std::atomic<int64_t> runs_{0}, due_;          // threads may lose counts of each other
  mutable std::mutex asking_;                           // only ever tried
  mutable std::shared_ptr<jit::FusedLoop> owner_;       // guarded by asking_, set once
  mutable std::atomic<jit::FusedLoop*> loop_{nullptr};  // owner_ (release, acquire)
};

/// How many runs of this thread's were native.
SHUNT_API uint64_t nativeRuns();

}  // namespace shunt::compiled
