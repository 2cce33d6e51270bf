// What the library warns of while an object lives, but that it was built without the compiler. One at a time; other
// threads may warn.
#pragma once

#include <shunt/core/log.h>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::test {

class Warnings {
 public:
  Warnings() : before_(set_log_sink(&note)) { texts().clear(); }
  ~Warnings() { set_log_sink(before_); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex());
    return texts();
  }
  std::string text() const {
    std::string out;
    for (const std::string& line : all()) out += line + '\n';
    return out;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  static std::vector<std::string>& texts() {
    static std::vector<std::string> texts;
    return texts;
  }
  static void note(LogLevel level, const char* message) {
    if (level != LogLevel::kWarning && level != LogLevel::kError) return;
    if (std::string_view(message).starts_with("the JIT is not available")) return;
    const std::lock_guard lock(mutex());
    texts().emplace_back(message);
  }
  const LogSink before_;
};

}  // namespace shunt::test
