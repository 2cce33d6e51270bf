// SHUNT_LOG, for what is logged when the program ends.
#pragma once

#include <string>

namespace shunt::detail {

/// Whether SHUNT_LOG=debug.
bool logsDebug();
/// The default sink's line at the level debug, whatever the sink is: a program's may use what is destroyed by then.
void logDebugAtExit(const std::string& message);

}  // namespace shunt::detail
