// Where the program called Shunt, for errors of what trace() can't record. Any thread.
#pragma once

#include <string>

namespace shunt::trace_detail {

/// " (called from main+0x1f in ./program; addr2line -Cfe ./program 0x4f1f shows the line)": the innermost frame outside
/// of libshunt. Empty where it isn't known.
std::string callSite();

}  // namespace shunt::trace_detail
