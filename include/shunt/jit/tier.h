// The tiers of compiled code: constants.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>

namespace shunt::jit {

/// How thorough a compile is; kFirst is the quick one. Note [Tiers] (src/tiering/timed_call.cpp).
enum class Tier : uint8_t { kFirst = 1, kSecond = 2 };

}  // namespace shunt::jit
