#include "jit/bitcode/references.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>

namespace shunt::jit {

bool collectGlobals(const llvm::Constant& constant, GlobalSet& globals) {
  llvm::SmallPtrSet<const llvm::Constant*, 16> seen;
  llvm::SmallVector<const llvm::Constant*, 16> queue = {&constant};
  while (!queue.empty()) {
    const llvm::Constant* next = queue.pop_back_val();
    if (auto* global = llvm::dyn_cast<llvm::GlobalValue>(next)) {
      globals.insert(const_cast<llvm::GlobalValue*>(global));
      continue;
    }
    if (llvm::isa<llvm::BlockAddress>(next)) return false;
    if (llvm::isa<llvm::ConstantData>(next)) continue;
    for (const llvm::Use& operand : next->operands()) {
      const auto* part = llvm::dyn_cast<llvm::Constant>(operand.get());
      if (part != nullptr && seen.insert(part).second) queue.push_back(part);
    }
  }
  return true;
}

References findReferences(const llvm::Function& function) {
  References found;
  if (function.hasPersonalityFn()) {
    if (auto* personality = llvm::dyn_cast<llvm::GlobalValue>(function.getPersonalityFn())) {
      found.callees.insert(personality);  // its address is kept by unwind tables only, and those are the thunk's
    }
  }
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    ++found.instructions;
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    for (const llvm::Use& operand : instruction.operands()) {
      auto* constant = llvm::dyn_cast<llvm::Constant>(operand.get());
      if (constant == nullptr || llvm::isa<llvm::ConstantData>(constant)) continue;
      auto* global = llvm::dyn_cast<llvm::GlobalValue>(constant);
      if (global != nullptr && call != nullptr && call->isCallee(&operand)) {
        const auto* callee = llvm::dyn_cast<llvm::Function>(global);
        if (callee == nullptr || !callee->isIntrinsic()) found.callees.insert(global);
      } else if (!collectGlobals(*constant, found.addresses)) {
        found.takes_label = true;
      }
    }
  }
  return found;
}

}  // namespace shunt::jit
