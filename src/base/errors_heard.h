// What a thread throws of Shunt's errors, told by their messages: for who runs code that may catch them.
//
// Heard where an error is made, before the dispatcher adds which operators run. One thread; the innermost hears.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace shunt::detail {

class ErrorsHeard {
 public:
  ErrorsHeard() noexcept : outer_(std::exchange(innermost, this)) {}
  ~ErrorsHeard() { innermost = outer_; }
  ErrorsHeard(const ErrorsHeard&) = delete;
  ErrorsHeard& operator=(const ErrorsHeard&) = delete;

  /// A hash of the messages, in order; 0: there were none.
  uint64_t digest() const { return digest_; }
  /// The first message; empty where there is no memory for it.
  const std::string& first() const { return first_; }

  static void note(const std::string& message) noexcept {
    if (innermost != nullptr) innermost->hear(message);
  }
  /// The last error was handled by the library: the code that is listened to won't see it.
  static void forgetLast() noexcept {
    if (innermost != nullptr) innermost->digest_ = innermost->digest_before_;
  }

 private:
  void hear(const std::string& message) noexcept;
  static constinit thread_local ErrorsHeard* innermost;
  ErrorsHeard* const outer_;
  uint64_t digest_ = 0, digest_before_ = 0;
  std::string first_;
};

}  // namespace shunt::detail
