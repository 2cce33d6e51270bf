// Thread-local variables of the host in compiled code.
//
// JITLink links native TLS accesses without an error to code that reads garbage. libshunt's variables are initial-exec,
// so each lies at a constant distance from the thread pointer: that is what their accesses become. The distance is the
// process's, so it belongs to what a cached object depends on.
#pragma once

#include "jit/host/host_symbols.h"

#include <llvm/IR/Module.h>
#include <llvm/Support/Error.h>

namespace shunt::jit {

/// Fails, and names the variable, if one is not in the host's table or is still used afterwards.
llvm::Error lowerThreadLocals(llvm::Module& module, const HostSymbols& host);

}  // namespace shunt::jit
