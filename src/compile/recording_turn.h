// RecordingTurn: one thread at a time records a compiled function.
#pragma once

#include <atomic>

namespace shunt::detail {

/// The flag `recording`, set by this thread: cleared in the end, unless somebody else is to do that.
class RecordingTurn {
 public:
  explicit RecordingTurn(std::atomic<bool>& flag) : flag_(&flag) {}
  ~RecordingTurn() {
    if (flag_ != nullptr) flag_->store(false, std::memory_order_release);
  }
  RecordingTurn(const RecordingTurn&) = delete;
  RecordingTurn& operator=(const RecordingTurn&) = delete;
  void leaveSet() { flag_ = nullptr; }

 private:
  std::atomic<bool>* flag_;
};

}  // namespace shunt::detail
