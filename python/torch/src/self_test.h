// Whether libshunt works in this process, its compiler included; for tests of wheels.
#pragma once

#include <cstdint>

namespace shunt_torch {

/// Calls an operator of libshunt's a few times, and returns how many pairs were compiled in the process so far: 1 at
/// least under SHUNT_JIT_SYNC=1 SHUNT_JIT_THRESHOLD=1, unless the compiler can't be used. -1: a result was wrong.
int64_t selfTest();

}  // namespace shunt_torch
