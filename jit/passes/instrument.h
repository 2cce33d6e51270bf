// Compiled code under a sanitizer is checked as the library itself is.
//
// Bitcode is never instrumented (the optimiser should see what the sources say), so this is done to finished functions.
// ThreadSanitizer has to see the atomics of a thunk, or every reference that one gives back looks like a race;
// AddressSanitizer sees what a specialised loop reads and writes beside its operands.
#pragma once

#include <llvm/IR/PassManager.h>

namespace shunt::jit {

/// Nothing in a library that is built without a sanitizer.
void instrument(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);

}  // namespace shunt::jit
