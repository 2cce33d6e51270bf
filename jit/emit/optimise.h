// From a module to object code: LLVM's stock pipeline with Shunt's switches. Each call works on its caller's module only.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>

namespace shunt::jit {

/// O2, with the loop vectoriser on, interleaving only where the source asks for it, and no library function known by its
/// name (LLVM's folding of libm differs from ours). Then thread-local variables are read as offsets from the thread
/// pointer: fails if one remains, or is not one of libshunt's. Constants whose addresses may be kept go to the process's
/// pool (link/literals.h).
llvm::Error optimise(llvm::Module& module);

/// Position-independent object code, small code model.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> generate(llvm::Module& module);

}  // namespace shunt::jit
