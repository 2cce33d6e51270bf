// GraphTrial: whether calls are faster with a variant's graph than with the function.
//
// Note [Graphs that are slower]
// Now and then some calls of a variant are timed, with the graph and with the function in turns, and the fastest of
// each decide: what disturbs a call makes it slower only. Where the function is faster, calls run it until the next
// trial. There is always another one, later each time, since either side may become faster: operators get thunks, and
// regions native code. A call with the graph counts with what it takes to find the variant. Results that bring a
// compiled backward pass have its time added on both sides, as checked runs measure it (checked_run.h); a graph of such
// results stays in use until one of them has.
//
// Any thread; threads may take turns at once, and each takes part in what the others have found.
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
  struct Turn {
    int number;
    bool isGraphs() const { return number % 2 == 0; }
  };

  /// There are to be trials, the first one after a few runs. `has_backward`: results bring a compiled backward pass.
  void begin(bool has_backward);
  Mode mode() const { return mode_.load(std::memory_order_relaxed); }
  /// While the graph is in use: whether a trial is to open at this run, numbered from 1.
  bool isDue(uint64_t run) const { return run >= next_.load(std::memory_order_relaxed); }
  void open();
  /// While it is open.
  Turn take() { return {turn_.fetch_add(1, std::memory_order_relaxed)}; }
  /// What a turn has taken. `run`: of the graph, the last one. True: it was the last turn, and mode() is what follows.
  bool took(Turn turn, int64_t nanoseconds, uint64_t run);
  /// While the function is in use: it was called so often. True: a trial is due.
  bool passed(uint64_t calls);
  /// What the backward passes of a checked run have taken.
  void tookBackward(int64_t graph_ns, int64_t function_ns);
  /// The fastest calls of the last trial, with what counts besides; 0: there was none.
  int64_t functionNs() const;
  /// For people: the same of both, where calls run the function; else empty.
  std::string describe() const;

 private:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
  struct Side {
    std::atomic<int64_t> call{kUnknown}, backward{kUnknown};
  };
  int64_t timeOf(const Side& side) const;
  void conclude(uint64_t run);

  std::atomic<uint64_t> next_{kNever};
  std::atomic<Mode> mode_{Mode::kGraph};
  bool has_backward_ = false;
  std::atomic<int> turn_{0};
  std::atomic<int64_t> spent_{0};
  Side graph_, function_;
  std::atomic<uint64_t> distance_{0};  // to the next trial, in calls
  std::atomic<uint64_t> left_{0};      // of it, while the function is in use
};

}  // namespace shunt::compiled
