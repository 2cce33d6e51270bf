// What a function of the bitcode refers to outside itself. Pure; any thread, on its own module.
#pragma once

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Function.h>

namespace shunt::jit {

using GlobalSet = llvm::SmallSetVector<llvm::GlobalValue*, 8>;

struct References {
  GlobalSet callees;  // functions and aliases that are called directly; no intrinsics
  GlobalSet
      addresses;  // everything else, also where it is part of a constant; a constant's own content is not looked into
  bool takes_label = false;
  size_t instructions = 0;
};

References findReferences(const llvm::Function& function);

/// Adds what an initialiser refers to; false if it holds a label's address.
bool collectGlobals(const llvm::Constant& constant, GlobalSet& globals);

}  // namespace shunt::jit
