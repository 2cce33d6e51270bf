// Before and between the passes: the chain becomes one function, so that the pipeline sees little else.
//
// Each works on its caller's module; any thread.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

namespace shunt::jit {

/// An attribute of functions that are inlined in the second round only.
inline constexpr llvm::StringLiteral kInlineLate = "shunt-inline-late";

/// Inlines what is marked (the chain, its redispatches, the expected loop), folds what that makes constant, and does it
/// again for the calls that became direct.
void flatten(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);

/// Gives bodies that the host has compiled as well back to the host: what was not inlined gains nothing here.
void giveBack(llvm::Module& module);

}  // namespace shunt::jit
