// The instruction set that the ahead-of-time loops and thunks use: chosen once, when the library is loaded or first
// asked.
//
// The best level that the CPU has; SHUNT_ISA=baseline|v3|v4 forces one. A value that is none of these, or that the CPU
// lacks, is reported once by the log sink and the best level is used. All levels give the same bits, except for
// floating-point matrix products: libraries compute them, with kernels chosen by CPU. Any thread.
#pragma once

#include <shunt/core/isa_levels.h>
#include <shunt/core/macros.h>

#include <cstdint>

namespace shunt {

/// The x86-64 micro-architecture levels that loops are compiled for.
enum class Isa : uint8_t { kBaseline, kV3, kV4 };
inline constexpr int kNumIsas = 3;

/// "baseline", "v3" or "v4".
SHUNT_API const char* toString(Isa isa);
/// The name of the level in use.
SHUNT_API const char* isa_name();

namespace detail {
SHUNT_API Isa activeIsa();
/// The highest level that this CPU has and the library was compiled for, whatever is forced.
SHUNT_API Isa bestIsa();
}  // namespace detail

}  // namespace shunt
