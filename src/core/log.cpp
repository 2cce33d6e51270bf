#include <shunt/core/log.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace shunt {
namespace {

constexpr const char* kNames[] = {"error", "warning", "info", "debug"};

/// SHUNT_LOG names the least important level that the default sink prints.
LogLevel initialLevel() {
  const char* text = std::getenv("SHUNT_LOG");
  for (int i = 0; text != nullptr && i < 4; ++i)
    if (std::strcmp(text, kNames[i]) == 0) return static_cast<LogLevel>(i);
  return LogLevel::kWarning;
}

void printLine(LogLevel level, const char* message) {
  static const LogLevel least = initialLevel();
  if (level > least) return;
  std::fprintf(stderr, "shunt: %s: %s\n", kNames[static_cast<int>(level)], message);
}

// Relaxed: the function's code is all that a sink publishes.
std::atomic<LogSink> sink{&printLine};

}  // namespace

LogSink set_log_sink(LogSink to) { return sink.exchange(to != nullptr ? to : &printLine, std::memory_order_relaxed); }

namespace detail {

void log(LogLevel level, const std::string& message) { sink.load(std::memory_order_relaxed)(level, message.c_str()); }

}  // namespace detail
}  // namespace shunt
