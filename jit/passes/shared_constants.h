// Moves constants whose addresses may be kept out of a module, into the process's pool (host/literals.h).
//
// For optimised modules: what is only loaded from stays where it is, within reach of the code.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/Error.h>

namespace shunt::jit {

/// Fails, and names the constant, where one must move and its content is not known before it is linked.
llvm::Error shareConstants(llvm::Module& module);

}  // namespace shunt::jit
