#include "src/dispatch/profile_record.h"

#include <unistd.h>

#include <algorithm>
#include <new>

namespace shunt::profile {

// 40 bytes each.
std::atomic<int64_t>& eventsLeft() {
  static std::atomic<int64_t> left{int64_t{1} << 22};
  return left;
}

ThreadRecord::ThreadRecord(std::atomic<int64_t>* events_left) : tid(gettid()), events_left_(events_left) {}

void ThreadRecord::begin(const Operator& op, DispatchKeySet keys) {
  open_.push_back({&op, keys.raw(), 0, 0});
  open_.back().start = nanosecondsNow();
}

void ThreadRecord::end() noexcept {
  const int64_t now = nanosecondsNow();
  const OpenCall call = open_.back();
  open_.pop_back();
  const int64_t duration = now - call.start;
  if (!open_.empty()) open_.back().inside += duration;
  const bool outermost = std::none_of(open_.begin(), open_.end(), [&](const OpenCall& c) { return c.op == call.op; });
  try {
    const std::lock_guard lock(mutex);
    Sum& sum = sums[call.op];
    ++sum.calls;
    if (outermost) sum.total += duration;
    sum.self += duration - call.inside;
    if (events_left_ != nullptr && events_left_->fetch_sub(1, std::memory_order_relaxed) > 0)
      events.push_back({call.op, call.keys, call.start, duration});
  } catch (const std::bad_alloc&) {
    // The call isn't counted.
  }
}

}  // namespace shunt::profile
