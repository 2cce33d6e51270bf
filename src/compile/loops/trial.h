// Trial: whether native code of a region is faster than its block loop. It nearly always is, but what LLVM makes of a
// loop can also be slower (on CPUs without AVX: square roots, one at a time), or hardly worth a call (rows of a few
// elements).
//
// Some runs are timed, of the one and of the other in turns, and the fastest of each decide: what disturbs a run makes
// it slower only. Threads may run it at once; each takes part in what the others have found. Under SHUNT_JIT_SYNC and
// SHUNT_JIT_KEEP nothing is timed, and native code stays.
#pragma once

#include <shunt/core/macros.h>

#include <atomic>
#include <cstdint>
#include <limits>

namespace shunt::compiled {

class SHUNT_API Trial {
 public:
  enum class Verdict : uint8_t { kOpen, kNative, kBlocks };
  Trial();

  Verdict verdict() const { return verdict_.load(std::memory_order_relaxed); }
  /// Runs one of the two, and takes its time.
  template <class Native, class Blocks>
  void run(const Native& native, const Blocks& blocks) {
    const int turn = turn_.fetch_add(1, std::memory_order_relaxed);
    const bool is_native = turn % 2 == 0;
    const int64_t begin = now();
    is_native ? native() : blocks();
    add(is_native, now() - begin, turn);
  }

 private:
  static int64_t now();
  void add(bool is_native, int64_t nanoseconds, int turn);

  std::atomic<Verdict> verdict_;
  std::atomic<int> turn_{0};
  std::atomic<int64_t> spent_{0};
  std::atomic<int64_t> native_{std::numeric_limits<int64_t>::max()}, blocks_{std::numeric_limits<int64_t>::max()};
};

}  // namespace shunt::compiled
