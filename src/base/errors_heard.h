// What a thread throws of Shunt's errors: for those that run code which may catch them.
//
// Heard where an error is made, before the dispatcher adds which operators run. One thread; the innermost hears.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace shunt::detail {

class ErrorsHeard {
 public:
  ErrorsHeard() noexcept : outer_(std::exchange(innermost, this)) {}
  ~ErrorsHeard() { innermost = outer_; }
  ErrorsHeard(const ErrorsHeard&) = delete;
  ErrorsHeard& operator=(const ErrorsHeard&) = delete;

  /// In order.
  const std::vector<std::string>& messages() const { return messages_; }
  /// Whether there was no memory for one of them.
  bool lostAny() const { return lost_any_; }
  /// As if whoever listened before had heard this one.
  void passOn(const std::string& message) const noexcept {
    if (outer_ != nullptr) outer_->hear(message);
  }

  static void note(const std::string& message) noexcept {
    if (innermost != nullptr) innermost->hear(message);
  }

 private:
  void hear(const std::string& message) noexcept;
  static constinit thread_local ErrorsHeard* innermost;
  ErrorsHeard* const outer_;
  std::vector<std::string> messages_;
  bool lost_any_ = false;
};

}  // namespace shunt::detail
