#include "jit/passes/instrument.h"

#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Instrumentation/AddressSanitizer.h>
#include <llvm/Transforms/Instrumentation/ThreadSanitizer.h>

namespace shunt::jit {
namespace {

[[maybe_unused]] void markFunctions(llvm::Module& module, llvm::Attribute::AttrKind sanitizer) {
  for (llvm::Function& f : module)
    if (!f.isDeclaration()) f.addFnAttr(sanitizer);
}

#ifdef SHUNT_JIT_SANITIZE_THREAD
// Functions get a landing pad that tells of their end. Those that need one for this alone would bring the personality
// of C, for which the slab has no pointer.
void setPersonality(llvm::Module& module) {
  auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(module.getContext()), /*isVarArg=*/true);
  auto* personality = llvm::cast<llvm::Constant>(module.getOrInsertFunction("__gxx_personality_v0", type).getCallee());
  for (llvm::Function& f : module)
    if (!f.isDeclaration() && !f.doesNotThrow() && !f.hasPersonalityFn()) f.setPersonalityFn(personality);
}
#endif

#ifdef SHUNT_JIT_SANITIZE_ADDRESS
// Constants lie in the slab, where no red zones fit between them.
void leaveConstants(llvm::Module& module) {
  for (llvm::GlobalVariable& variable : module.globals()) {
    llvm::GlobalValue::SanitizerMetadata meta;
    meta.NoAddress = true;
    variable.setSanitizerMetadata(meta);
  }
}
#endif

}  // namespace

void instrument([[maybe_unused]] llvm::Module& module, [[maybe_unused]] llvm::ModuleAnalysisManager& analyses) {
#ifdef SHUNT_JIT_SANITIZE_THREAD
  analyses.invalidate(module, llvm::PreservedAnalyses::none());
  markFunctions(module, llvm::Attribute::SanitizeThread);
  setPersonality(module);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::ThreadSanitizerPass()));
  passes.run(module, analyses);
#endif
#ifdef SHUNT_JIT_SANITIZE_ADDRESS
  analyses.invalidate(module, llvm::PreservedAnalyses::none());
  markFunctions(module, llvm::Attribute::SanitizeAddress);
  leaveConstants(module);
  llvm::AddressSanitizerOptions options;
  options.InsertVersionCheck = false;
  llvm::AddressSanitizerPass(options, /*UseGlobalGC=*/false, /*UseOdrIndicator=*/false, llvm::AsanDtorKind::None,
                             llvm::AsanCtorKind::None)
      .run(module, analyses);
#endif
}

}  // namespace shunt::jit
