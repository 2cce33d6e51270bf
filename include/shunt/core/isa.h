// The instruction set of the ahead-of-time loops and of thunks. Chosen once, at the first use or when the library is
// loaded. Any thread.
//
// - The default is the best level that the CPU and the library have. SHUNT_ISA=baseline|v3|v4 forces one.
// - A value that is none of these, or that the CPU or the library lacks: one warning in the log, and the best level.
// - All levels give the same bits, except floating-point matrix products: libraries compute these, with kernels that
//   they choose by CPU.
#pragma once

#include <shunt/core/isa_levels.h>
#include <shunt/core/macros.h>

#include <cstdint>

namespace shunt {

/// The x86-64 microarchitecture levels that loops are compiled for, in ascending order.
enum class Isa : uint8_t { kBaseline, kV3, kV4 };
inline constexpr int kNumIsas = 3;

/// "baseline", "v3" or "v4".
SHUNT_API const char* toString(Isa isa);
/// toString of the level in use.
SHUNT_API const char* isa_name();

namespace detail {
SHUNT_API Isa activeIsa();
/// The highest level that this CPU has and the library was compiled for. Ignores SHUNT_ISA. Throws if there is none.
SHUNT_API Isa bestIsa();
}  // namespace detail

}  // namespace shunt
