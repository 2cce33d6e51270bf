// Counters in a thunk, where its request asks for them (SHUNT_STATS): its calls, and those that met other operands than
// expected. Relaxed atomic additions; a thunk without counters has no trace of them.
#pragma once

#include "jit/plan/plan_symbols.h"

#include <llvm/IR/Module.h>

namespace shunt::jit {

/// Between buildThunk() and optimise().
void countCalls(llvm::Module& module, const PlanSymbols& symbols, const CallCounters& counters);

}  // namespace shunt::jit
