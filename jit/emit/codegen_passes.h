// The code generator's list of passes without those that do nothing for thunks.
//
// Note [Passes left out]
// LLVM puts together some 120 passes for x86, whatever the module needs. Each looks at every instruction, drops what
// was known of the function, and comes with code that the CPU has to fetch: of a module of 100 instructions, code
// generation takes 2 ms. The list is made by LLVM, but what it goes into is ours, and takes only what we want. Left out
// are
//   - passes for what no thunk has: garbage collection, AMX, hardening against speculation, debugging information,
//     funclets, division of very large integers, and those that are switched off by name elsewhere;
//   - passes of which a comparison of some hundred objects, with and without, found nothing or next to nothing gained:
//     branch folding before block placement, which folds branches too; shrink wrapping; and kill flags, without which
//     the register allocator finds out for itself what dies where, as in code without optimisation: of all instructions
//     that a compile took they were 5 %, and code takes 1.5 % more space;
//   - where no loop is, those that pay in loops.
// Fused loops get the whole list. Names that this LLVM doesn't have leave out nothing. Never left out is what lowers
// something, however rare: LLVM without it would stop, or make wrong code.
#pragma once

#include "jit/emit/optimise.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

namespace shunt::jit {

/// The passes that are left out, by the names that they have for people: of every module, and of those without a loop.
llvm::ArrayRef<llvm::StringLiteral> passesLeftOut();
llvm::ArrayRef<llvm::StringLiteral> passesForLoops();

/// What the passes are made for. The caller's.
std::unique_ptr<llvm::TargetMachine> codegenMachine(Effort effort);

/// Runs the passes that are wanted. For one thread at a time.
class CodegenPasses final : public llvm::legacy::PassManager {
 public:
  explicit CodegenPasses(Effort effort) : effort_(effort) {}
  /// Takes the pass, to run or to destroy it.
  void add(llvm::Pass* pass) override;

 private:
  const Effort effort_;
};

}  // namespace shunt::jit
