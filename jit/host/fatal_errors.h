// LLVM's fatal errors ("cannot select", out of memory), which end the process unless somebody stops them: a pair that
// can't be compiled must never be the end of a program.
//
// Any thread; work on different threads is kept apart. What the interrupted work owned is leaked, since its state is
// unknown: nothing of it may be used afterwards.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/LLVMContext.h>

#include <string>

namespace shunt::jit {

/// Runs `work`. A fatal error of LLVM in it ends it, not the process, and its message is returned; "" when there was
/// none. `work` must hold no lock, nor be in a static object's initialiser, where it calls LLVM, unless that call
/// stands in a stoppingFatalErrors of its own. Exceptions pass through.
std::string stoppingFatalErrors(llvm::function_ref<void()> work);

/// Makes the context's errors fatal ones, for stoppingFatalErrors; by themselves they would exit.
void reportErrorsAsFatal(llvm::LLVMContext& context);

}  // namespace shunt::jit
