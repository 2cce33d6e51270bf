// The passes that a thunk goes through after flattening: LLVM's O2, less what it does for whole programs.
//
// Note [Pipeline]
// A module holds one function that matters, and its parts were simplified when the library was compiled. So there is
// one round of inlining instead of a simplification of every function for every caller, no pass between procedures, and
// each scalar pass once but where the one before leaves it work. Left out after comparing objects and the bench's calls
// with and without: unrolling, SLP and the repetitions of InstCombine, which was 40 % of the time; later, with 124
// objects the same or a few bytes apart, dead stores, ADCE, MemCpyOpt, and SROA and SimplifyCFG where they came again.
// EarlyCSE can't replace GVN: loops that take several steps for an element stayed scalar.
// One SimplifyCFG has to stand between the loops' passes and the vectoriser, which else finds fewer loops.
//
// The first tier's modules (Note [Tiers], src/tiering/timed_call.cpp) hold no loop, and what flattening has folded
// needs few passes and little of the code generator: FastISel, without its optimising passes. What has no loop after
// inlining (views, composites, loops that are called) is made so in both tiers: calls of add, relu, exp,
// view, sum, softmax and of mul with a graph node took what they take with full effort, whose code is a sixth shorter,
// within a noise of some percent.
#pragma once

#include <llvm/IR/PassManager.h>

namespace shunt::jit {

/// Inlines small functions, and drops what nobody calls then.
llvm::ModulePassManager inlinePipeline();
/// Simplifies every function and vectorises its loops, with interleaving only where the source asks for it. `all`: for
/// fused loops, with the passes that gain nothing for thunks.
llvm::ModulePassManager functionPipeline(bool all, bool folded);
/// For modules without loops to vectorise, and the first tier's. `folded`: nothing was inlined since flatten() folded.
llvm::ModulePassManager quickPipeline(bool folded);

}  // namespace shunt::jit
