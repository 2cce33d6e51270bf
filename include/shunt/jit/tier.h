// The tiers of compiled code. Constants only.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>

namespace shunt::jit {

/// How much a compile spends. Note [Tiers] (src/tiering/timed_call.cpp).
enum class Tier : uint8_t { kFirst = 1, kSecond = 2 };

}  // namespace shunt::jit
