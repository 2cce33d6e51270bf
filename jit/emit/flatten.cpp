#include "jit/emit/flatten.h"

#include "jit/link/host_symbols.h"

#include <llvm/IR/PassManager.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace shunt::jit {
namespace {

// A call costs about as much as this many instructions are worth optimising.
constexpr size_t kSmallFunction = 60;

/// Drops bodies that the host has compiled as well.
void giveBack(llvm::Module& module) {
  for (llvm::Function& f : module) {
    if (f.isDeclaration() || !f.hasLocalLinkage() || f.hasFnAttribute(llvm::Attribute::AlwaysInline)) continue;
    if (f.getInstructionCount() <= kSmallFunction && !f.hasFnAttribute(llvm::Attribute::Cold)) continue;
    if (!HostSymbols::instance().address(std::string_view(f.getName()))) continue;
    f.deleteBody();  // and it becomes external
    f.setLinkage(llvm::GlobalValue::ExternalLinkage);
    f.removeFnAttr(llvm::Attribute::InlineHint);
    f.setComdat(nullptr);
    f.setDSOLocal(false);
    f.setVisibility(llvm::GlobalValue::DefaultVisibility);
  }
}

llvm::ModulePassManager inlineAndFold() {
  llvm::FunctionPassManager fold;
  fold.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  fold.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  fold.addPass(llvm::SimplifyCFGPass());
  fold.addPass(llvm::InstCombinePass());
  fold.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/true));
  passes.addPass(llvm::GlobalDCEPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(fold)));
  return passes;
}

}  // namespace

void flatten(llvm::Module& module, llvm::PassBuilder&, llvm::ModuleAnalysisManager& analyses) {
  inlineAndFold().run(module, analyses);
  giveBack(module);
  analyses.invalidate(module, llvm::PreservedAnalyses::none());
  inlineAndFold().run(module, analyses);
  analyses.invalidate(module, llvm::PreservedAnalyses::none());
}

}  // namespace shunt::jit
