// Counters in a thunk, where its request asks for them (SHUNT_STATS): its calls, and those that met other operands than
// expected. Relaxed atomic additions at process addresses; a thunk without counters has no trace of them.
#pragma once

#include <shunt/jit/provider.h>

#include <llvm/IR/Module.h>

namespace shunt::jit {

/// Between buildThunk() and optimise().
void countCalls(llvm::Module& module, CallCounters& counters);

}  // namespace shunt::jit
