// What a call can cost at best: the arithmetic written out by hand, with a tensor's two allocations and nothing else.
//
// A call owns its operands; one thread may run it at a time.
#pragma once

#include "bench/calls/cases.h"

#include <shunt/core/isa.h>

namespace bench {

/// Mallocs a tensor struct and its data, runs a plain loop, frees both. The loop is compiled with -O3 for the
/// instruction set that Shunt's loops use (SHUNT_ISA).
std::unique_ptr<Call> makeDirectCall(const Case& c);

/// The same with a loop vectorised by hand with the intrinsics of `isa`, on data that it aligns. Null where `isa` is
/// above the level in use, and for the baseline.
std::unique_ptr<Call> makeByHandCall(const Case& c, shunt::Isa isa);

}  // namespace bench
