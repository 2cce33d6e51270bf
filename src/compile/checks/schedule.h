// CheckSchedule: which runs of a variant are checked (CompileCheck::kFirst): the first three that may be, then one at a
// distance that doubles until checks take less than a hundredth of what the runs between them do, as the last check has
// measured it, and that stays then. Where a check could not compare, the next run is due in its place; after three such
// in a row the distance doubles each time, so that a variant that can never be compared doesn't pay at each run. Any
// thread; one at a time checks.
#pragma once

#include <shunt/core/macros.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

namespace shunt::compiled {

class CheckSchedule {
 public:
  /// `first`: the first run that may be checked. Before the variant's first run.
  void begin(uint64_t first = 1) { next_.store(first, std::memory_order_relaxed); }
  bool isOn() const { return next_.load(std::memory_order_relaxed) != kNever; }
  /// Runs are numbered from 1.
  bool isDue(uint64_t run) const { return run >= next_.load(std::memory_order_relaxed); }
  /// False: another thread checks. True: it is this one that does, until release().
  bool claim() { return !is_claimed_.exchange(true, std::memory_order_acquire); }
  void release() { is_claimed_.store(false, std::memory_order_release); }
  /// By who has claimed it: the run was right. `check_ns`: what the check has taken, besides what the graph's run has.
  void passed(uint64_t run, uint64_t check_ns, uint64_t run_ns) {
    constexpr uint64_t kFirst = 3, kCostsAtMost = 100;  // one part in
    last_right_.store(run, std::memory_order_relaxed);
    not_compared_ = 0;
    if (count_.fetch_add(1, std::memory_order_relaxed) + 1 < kFirst)
      return next_.store(run + 1, std::memory_order_relaxed);
    run_ns = std::max<uint64_t>(run_ns, 1);  // a clock may be too coarse for it
    if (kCostsAtMost * check_ns > distance_ * run_ns && distance_ < kFarthest) distance_ *= 2;
    next_.store(run + distance_, std::memory_order_relaxed);
  }
  /// By who has claimed it: nothing was compared.
  void notCompared(uint64_t run) {
    constexpr uint64_t kAtOnce = 3;
    const uint64_t doubled = ++not_compared_ <= kAtOnce ? 0 : not_compared_ - kAtOnce;
    next_.store(run + std::min(uint64_t{1} << std::min<uint64_t>(doubled, 63), kFarthest), std::memory_order_relaxed);
  }
  /// 0: none was.
  uint64_t lastRight() const { return last_right_.load(std::memory_order_relaxed); }
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max(), kFarthest = uint64_t{1} << 20;

  std::atomic<uint64_t> next_{kNever}, last_right_{0}, count_{0};
  std::atomic<bool> is_claimed_{false};
  // Of who has claimed it.
  uint64_t distance_ = 1;
  uint64_t not_compared_ = 0;  // in a row
};

}  // namespace shunt::compiled
