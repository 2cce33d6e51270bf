// What a call can cost at best: the arithmetic written out by hand, with a tensor's two allocations and nothing else.
#pragma once

#include "bench/calls/cases.h"

namespace bench {

/// A plain function: mallocs a tensor struct and its data, loops, frees both. Compiled with -O3 -march=native.
std::unique_ptr<Call> makeDirectCall(const Case& c);
/// The same with a loop vectorised by hand for AVX-512, on data that it aligns. Null where the CPU has none.
std::unique_ptr<Call> makeAvx512Call(const Case& c);

}  // namespace bench
