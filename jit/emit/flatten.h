// Before the stock pipeline: the chain becomes one function, so that the pipeline sees little else.
//
// Inlines what is marked (the chain, its redispatches, the expected loop), folds what that makes constant, does it again for
// the calls that became direct, and gives every other function that the host has too, and that is not small, back to the host.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

namespace shunt::jit {

/// An attribute of functions that are inlined in the second round only.
inline constexpr llvm::StringLiteral kInlineLate = "shunt-inline-late";

void flatten(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);

}  // namespace shunt::jit
