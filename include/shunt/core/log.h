// The log sink: receives the library's messages. Shunt prints nothing else, unless SHUNT_STATS, SHUNT_TRACE or
// SHUNT_PROFILE asks for it.
//
// The default sink writes one line per message to stderr, down to the level in SHUNT_LOG (default: warning). Any thread
// may log or set the sink.
#pragma once

#include <shunt/core/macros.h>

#include <atomic>
#include <string>

namespace shunt {

/// A message's severity, most severe first.
enum class LogLevel { kError, kWarning, kInfo, kDebug };

/// Receives each message. Several threads may call it at once; it must not throw.
using LogSink = void (*)(LogLevel level, const char* message);

/// Replaces the sink and returns the previous one. Null restores the default.
SHUNT_API LogSink set_log_sink(LogSink sink);

namespace detail {
SHUNT_API SHUNT_COLD void log(LogLevel level, const std::string& message);
SHUNT_COLD inline void logWarning(const std::string& message) { log(LogLevel::kWarning, message); }
/// Logs a warning once per process: `given`, the warning's flag, is set by the first call. See WarnAlways.
SHUNT_API SHUNT_COLD void logWarningOnce(std::atomic<bool>& given, const char* message);
}  // namespace detail

/// While it lives, once-per-process warnings are logged each time, on all threads (`on` = false: only once per process
/// again).
class SHUNT_API WarnAlways {
 public:
  explicit WarnAlways(bool on = true);
  ~WarnAlways();
  WarnAlways(const WarnAlways&) = delete;
  WarnAlways& operator=(const WarnAlways&) = delete;

 private:
  const bool before_;
};

}  // namespace shunt
