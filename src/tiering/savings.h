// What compiling a pair or a loop saves, as far as that can be known before: the order in which the compiler's queue is
// worked off. Pure functions; any thread.
#pragma once

#include <shunt/jit/provider.h>

namespace shunt::jit {

/// What a pair has while it waits: nothing, or a thunk that another one will replace.
enum class Waiting : uint8_t { kInterpreted, kWithThunk };

/// Nanoseconds that a call is expected to save, from the kind of the pair: the record's loop, gradients, calls inside.
double savedByCall(const CompileRequest& request, Waiting waiting);
/// And a run of a fused loop, as NativeLoop counts runs.
double savedByRun();

}  // namespace shunt::jit
