// Before and between the passes: the chain becomes one function, so that the pipeline sees little else.
//
// Each works on its caller's module; any thread.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

namespace shunt::jit {

/// Attributes of functions that are inlined in turn, each when all before it is inlined and folded: the guards of
/// further kinds of operands and their loops, of which most are gone by then where a kernel calls an entry at several
/// places (pow, with a functor for each common exponent: 8 places, 4 kinds; together they took 0.9 s); and what a loop
/// calls.
inline constexpr llvm::StringLiteral kInlineGuards[] = {"shunt-inline-guard-2", "shunt-inline-guard-3",
                                                        "shunt-inline-guard-4"};
inline constexpr llvm::StringLiteral kInlineLoop = "shunt-inline-loop", kInlineLate = "shunt-inline-late";

/// Inlines what is marked (the chain, its redispatches, the expected loop), folds what that makes constant, and does it
/// again for the calls that became direct.
void flatten(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);

/// Gives bodies that the host has compiled as well back to the host: what was not inlined gains nothing here.
void giveBack(llvm::Module& module);

}  // namespace shunt::jit
