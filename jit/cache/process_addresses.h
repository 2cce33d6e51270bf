// Whether a module holds an address of this process as a number, or a name that only this process knows: its object
// would mean nothing to another.
//
// The plan's addresses have names (PlanSymbols), and a fused loop has none, so there should be none; this is what the
// disk cache relies on. Pure.
#pragma once

#include "jit/plan/plan_symbols.h"

#include <llvm/IR/Module.h>

namespace shunt::jit {

/// A pointer made of a number, a number that is one of the plan's addresses, or a name with another prefix than those
/// that are bound anew in every process.
bool holdsProcessAddress(const llvm::Module& module, const PlanSymbols& symbols);
/// The same of a module that was made without a plan.
bool holdsProcessAddress(const llvm::Module& module);
/// Whether a name means the same in every process, or is bound anew in each.
bool holdsEverywhere(llvm::StringRef name);

}  // namespace shunt::jit
