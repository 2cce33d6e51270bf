// The passes that a thunk goes through after flattening: LLVM's O2, less what it does for whole programs.
//
// Note [Pipeline]
// A module holds one function that matters, and its parts were simplified when the library was compiled. So there is one
// round of inlining instead of a simplification of every function for every caller, no pass between procedures, one round
// of scalar passes before the loops and a short one behind. What a pass is here for can be told from a benchmark's loss
// without it; what is not here was tried, and neither code size nor the bench's calls changed.
#pragma once

#include <llvm/IR/PassManager.h>

namespace shunt::jit {

/// Inlines small functions, and drops what nobody calls then.
llvm::ModulePassManager inlinePipeline();
/// Simplifies every function and vectorises its loops, with interleaving only where the source asks for it.
llvm::ModulePassManager functionPipeline();

}  // namespace shunt::jit
