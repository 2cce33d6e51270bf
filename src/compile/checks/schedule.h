// CheckSchedule: which runs of a variant are checked (CompileCheck::kFirst): the first three, then one at a distance
// that doubles until checks take less than a hundredth of what the runs between them do, as the last check has measured
// it, and that stays then. Any thread; one at a time checks.
#pragma once

#include <shunt/core/macros.h>

#include <atomic>
#include <cstdint>
#include <limits>

namespace shunt::compiled {

class CheckSchedule {
 public:
  void begin() { next_.store(1, std::memory_order_relaxed); }
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
    count_.fetch_add(1, std::memory_order_relaxed);
    if (run < kFirst) return next_.store(run + 1, std::memory_order_relaxed);
    if (kCostsAtMost * check_ns > distance_ * run_ns && distance_ < kFarthest) distance_ *= 2;
    next_.store(run + distance_, std::memory_order_relaxed);
  }
  /// 0: none was.
  uint64_t lastRight() const { return last_right_.load(std::memory_order_relaxed); }
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max(), kFarthest = uint64_t{1} << 20;

  std::atomic<uint64_t> next_{kNever}, last_right_{0}, count_{0};
  std::atomic<bool> is_claimed_{false};
  uint64_t distance_ = 1;  // of who has claimed it
};

}  // namespace shunt::compiled
