// The log sink: where the library's warnings go. Shunt itself never prints anything else.
//
// The default sink writes one line to stderr. Any thread may log or set the sink; the sink may be called from several
// threads at once and must not throw.
#pragma once

#include <shunt/core/macros.h>

#include <string>

namespace shunt {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

using LogSink = void (*)(LogLevel level, const char* message);

/// Replaces the sink; null restores the default. Returns the one before.
SHUNT_API LogSink set_log_sink(LogSink sink);

namespace detail {
SHUNT_API SHUNT_COLD void log(LogLevel level, const std::string& message);
SHUNT_COLD inline void logWarning(const std::string& message) { log(LogLevel::kWarning, message); }
}  // namespace detail

}  // namespace shunt
