#include "jit/passes/thread_local.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <string>

namespace shunt::jit {
namespace {

llvm::Error notReadable(const llvm::GlobalVariable& variable, const char* why) {
  return llvm::createStringError("thread-local variable %s %s", variable.getName().str().c_str(), why);
}

llvm::Value* addressFromThreadPointer(llvm::IRBuilderBase& builder, int64_t offset) {
  llvm::Value* pointer = builder.CreateIntrinsic(llvm::Intrinsic::thread_pointer, {}, {});
  return builder.CreatePtrAdd(pointer, builder.getInt64(static_cast<uint64_t>(offset)));
}

// A user that is an instruction gets the address computed before it; in a phi that would have to be in its predecessor.
llvm::Error replaceUse(llvm::Use& use, llvm::GlobalVariable& variable, int64_t offset) {
  auto* user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
  if (user == nullptr) return notReadable(variable, "is part of a constant");
  if (llvm::isa<llvm::PHINode>(user)) return notReadable(variable, "reaches a phi without llvm.threadlocal.address");
  llvm::IRBuilder<> builder(user);
  llvm::Value* address = addressFromThreadPointer(builder, offset);
  auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(user);
  if (intrinsic != nullptr && intrinsic->getIntrinsicID() == llvm::Intrinsic::threadlocal_address) {
    intrinsic->replaceAllUsesWith(address);
    intrinsic->eraseFromParent();
  } else {
    use.set(address);
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Error lowerThreadLocals(llvm::Module& module, const HostSymbols& host) {
  for (llvm::GlobalVariable& variable : llvm::make_early_inc_range(module.globals())) {
    if (!variable.isThreadLocal()) continue;
    if (!variable.isDeclaration()) return notReadable(variable, "is defined by the compiled module");
    variable.removeDeadConstantUsers();
    const std::optional<int64_t> offset = host.tls_offset(std::string_view(variable.getName()));
    if (!variable.use_empty() && !offset) return notReadable(variable, "is not one of libshunt's");
    while (!variable.use_empty()) {
      if (llvm::Error error = replaceUse(*variable.use_begin(), variable, *offset)) return error;
    }
    variable.eraseFromParent();
  }
  return llvm::Error::success();
}

}  // namespace shunt::jit
