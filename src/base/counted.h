// counted(): a number with its noun, for texts. Any thread.
#pragma once

#include <shunt/core/error.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace shunt::detail {

/// "1 call", "2 calls".
inline std::string counted(uint64_t n, std::string_view noun) { return str(n, ' ', noun, n == 1 ? "" : "s"); }

}  // namespace shunt::detail
