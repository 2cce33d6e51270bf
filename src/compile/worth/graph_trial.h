// GraphTrial: whether calls are faster with a variant's graph than with the function.
//
// Note [Graphs that are slower]
// Now and then some calls of a variant are timed, with the graph and with the function in turns, and the fastest of
// each decide: what disturbs a call makes it slower only. Where the function is faster, calls run it until the next
// trial. There is always another one, later each time, since either side may become faster: operators get thunks, and
// regions native code. A call with the graph counts with what it takes to find the variant. Results that bring a
// compiled backward pass have its time added on both sides, as checked runs measure it (checked_run.h); a graph of such
// results stays in use until one of them has. One thread at a time takes a turn, who has claimed the trial; others run
// the graph meanwhile. While a trial is open no run is checked, and none opens while one is (run.cpp): a check compares
// what a turn on another thread would write.
//
// Any thread. What isn't atomic is of who has claimed it: release() and claim() hand it over, and mode_ is stored with
// release order, so that who reads that a trial is open sees it as it was opened. Other atomics are counts and times
// that may be a little old.
#pragma once

#include <shunt/core/macros.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

namespace shunt::compiled {

class SHUNT_API GraphTrial {
 public:
  enum class Mode : uint8_t {
    kGraph,     // calls run the graph
    kOpen,      // calls take turns
    kFunction,  // calls run the function
  };

  /// There are to be trials, the first one after a few runs. `has_backward`: results bring a compiled backward pass.
  void begin(bool has_backward);
  Mode mode() const { return mode_.load(std::memory_order_acquire); }
  /// While the graph is in use: whether a trial is to open at this run, numbered from 1.
  bool isDue(uint64_t run) const { return run >= next_.load(std::memory_order_relaxed); }
  /// While the function is in use: it was called so often. True: a trial is due.
  bool passed(uint64_t calls);
  /// False: another thread has it.
  bool claim() { return !is_claimed_.exchange(true, std::memory_order_acquire); }
  void release() { is_claimed_.store(false, std::memory_order_release); }

  // By who has claimed it.
  void open();
  /// Without a verdict.
  void close() { mode_.store(Mode::kGraph, std::memory_order_release); }
  /// Whose turn it is, while the trial is open.
  bool isGraphsTurn() const { return turns_ % 2 == 0; }
  /// What the turn has taken. `run`: of the graph, the last one. True: it was the last turn, and mode() is what
  /// follows.
  bool took(int64_t nanoseconds, uint64_t run);

  /// What the backward passes of a checked run have taken.
  void tookBackward(int64_t graph_ns, int64_t function_ns);
  /// The fastest call of the function in the last trial that has ended, without a backward pass; 0: there was none.
  int64_t functionNs() const { return function_ns_.load(std::memory_order_relaxed); }
  /// For people: what calls take with each, where they run the function; else empty.
  std::string describe() const;

 private:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
  struct Side {
    int64_t call = kUnknown;
    std::atomic<int64_t> backward{kUnknown}, told{0};
  };
  int64_t timeOf(const Side& side) const;
  bool isWithoutDoubt() const;
  void conclude(uint64_t run);

  std::atomic<uint64_t> next_{kNever};
  std::atomic<Mode> mode_{Mode::kGraph};
  std::atomic<bool> is_claimed_{false};
  std::atomic<uint64_t> left_{0};  // calls to the next trial, while the function is in use
  std::atomic<int64_t> function_ns_{0};
  Side graph_, function_;
  bool has_backward_ = false;  // set before the variant is known to other threads
  int turns_ = 0;
  int64_t spent_ = 0;
  uint64_t distance_ = 0;  // from the last trial to the next, in calls
  bool was_slower_ = false;
};

}  // namespace shunt::compiled
