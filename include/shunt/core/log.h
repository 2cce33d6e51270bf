// The log sink: where the library's warnings go. Shunt itself never prints anything else.
//
// The default sink writes one line to stderr. Any thread may log or set the sink; the sink may be called from several
// threads at once and must not throw.
#pragma once

#include <shunt/core/macros.h>

#include <atomic>
#include <string>

namespace shunt {

/// How grave a message is, gravest first.
enum class LogLevel { kError, kWarning, kInfo, kDebug };

/// Takes each message; it may be called from several threads at once, and must not throw.
using LogSink = void (*)(LogLevel level, const char* message);

/// Replaces the sink; null restores the default. Returns the one before.
SHUNT_API LogSink set_log_sink(LogSink sink);

namespace detail {
SHUNT_API SHUNT_COLD void log(LogLevel level, const std::string& message);
SHUNT_COLD inline void logWarning(const std::string& message) { log(LogLevel::kWarning, message); }
/// A warning that one process needs once: `given` says whether it has been given.
SHUNT_API SHUNT_COLD void logWarningOnce(std::atomic<bool>& given, const char* message);
}  // namespace detail

/// While it lives, warnings that a process gets once are given each time, on all threads.
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
