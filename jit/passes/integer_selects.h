// A pass: choices between floating-point numbers that are made of bits and looked at as bits again become choices
// between integers.
//
// Rounding to BFloat16 works on a float's bits. Where the number is a BFloat16's own, widened (relu, where, clamp and
// others only choose), its lower half is known to be zero, and the rounding folds away: but LLVM knows bits of integers
// only, and folds through a choice only where nothing else looks at it. threshold_backward of 16 Ki BFloat16 took 3
// times as long. Bits are moved, never changed. Used by one thread at a time, on its own module.
#pragma once

#include <llvm/IR/PassManager.h>

namespace shunt::jit {

struct IntegerSelectsPass : llvm::PassInfoMixin<IntegerSelectsPass> {
  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace shunt::jit
