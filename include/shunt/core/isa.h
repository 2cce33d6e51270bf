// The instruction set that the ahead-of-time loops and thunks use: chosen once, when the library is loaded or first
// asked.
//
// The best level that the CPU has; SHUNT_ISA=baseline|v3|v4 forces one. A value that is none of these, or that the CPU
// lacks, is reported once by the log sink and the best level is used. All levels give the same bits, except for
// floating-point matrix products: libraries compute them, with kernels chosen by CPU. Any thread.
#pragma once

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
// Initialises an array of kNumIsas elements with X(baseline), X(v3), X(v4), what X makes of each level's namespace. A
// library that was configured with SHUNT_BASELINE_ONLY has no code for the others and never chooses them: their
// elements are empty.
#if defined(SHUNT_BASELINE_ONLY)
#define SHUNT_PER_ISA(X) {X(baseline)}
#else
#define SHUNT_PER_ISA(X) {X(baseline), X(v3), X(v4)}
#endif

SHUNT_API Isa activeIsa();
/// The highest level that this CPU has and the library was compiled for, whatever is forced.
SHUNT_API Isa bestIsa();
}  // namespace detail

}  // namespace shunt
