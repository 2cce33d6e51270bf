#include "src/base/log_level.h"

#include <shunt/core/environment.h>
#include <shunt/core/file_size_signal.h>
#include <shunt/core/log.h>

#include <atomic>
#include <cstdio>

namespace shunt {
namespace {

constexpr const char* kNames[] = {"error", "warning", "info", "debug"};

void writeLine(LogLevel level, const char* message) {
  const detail::NoFileSizeSignal guard;  // stderr may be a file; a line that is lost there ends no program
  std::fprintf(stderr, "shunt: %s: %s\n", kNames[static_cast<int>(level)], message);
}

LogLevel levelFromEnvironment() {
  std::string complaint;
  const auto value = detail::environment::read(detail::environment::Variable::kLog, complaint);
  if (!complaint.empty()) writeLine(LogLevel::kWarning, complaint.c_str());  // the sink needs the level first
  for (int i = 0; i < 4; ++i)
    if (value.isWord(kNames[i])) return static_cast<LogLevel>(i);
  return LogLevel::kWarning;
}

/// SHUNT_LOG names the least important level that the default sink prints.
LogLevel leastLevel() {
  static const LogLevel least = levelFromEnvironment();
  return least;
}
// Read when the library is loaded, so that a bad value is reported even where nothing else is logged.
[[maybe_unused]] const LogLevel read_at_load = leastLevel();

void printLine(LogLevel level, const char* message) {
  if (level <= leastLevel()) writeLine(level, message);
}

// Relaxed: the function's code is all that a sink publishes.
std::atomic<LogSink> sink{&printLine};
std::atomic<bool> warn_always{false};

}  // namespace

LogSink set_log_sink(LogSink to) { return sink.exchange(to != nullptr ? to : &printLine, std::memory_order_relaxed); }

WarnAlways::WarnAlways(bool on) : before_(warn_always.exchange(on, std::memory_order_relaxed)) {}
WarnAlways::~WarnAlways() { warn_always.store(before_, std::memory_order_relaxed); }

namespace detail {

void log(LogLevel level, const std::string& message) { sink.load(std::memory_order_relaxed)(level, message.c_str()); }

bool logsDebug() { return leastLevel() == LogLevel::kDebug; }

void logDebugAtExit(const std::string& message) { printLine(LogLevel::kDebug, message.c_str()); }

void logWarningOnce(std::atomic<bool>& given, const char* message) {
  if (given.exchange(true, std::memory_order_relaxed) && !warn_always.load(std::memory_order_relaxed)) return;
  log(LogLevel::kWarning, message);
}

}  // namespace detail
}  // namespace shunt
