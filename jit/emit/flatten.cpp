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

/// Marks what is inlined now, and drops bodies that the host has compiled as well.
void giveBack(llvm::Module& module) {
  for (llvm::Function& f : module) {
    if (f.hasFnAttribute(kInlineLate)) {
      f.removeFnAttr(kInlineLate);
      f.addFnAttr(llvm::Attribute::AlwaysInline);
    }
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

/// The functions that stay are left alone: what matters is in the thunk by now.
void fold(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  auto& functions = analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function& f : module)
    if (!f.isDeclaration() && !f.hasLocalLinkage()) functions.invalidate(f, passes.run(f, functions));
}

void inlineMarked(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/true));
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, analyses);
}

}  // namespace

void flatten(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  inlineMarked(module, analyses);
  fold(module, analyses);
  giveBack(module);
  analyses.invalidate(module, llvm::PreservedAnalyses::none());
  inlineMarked(module, analyses);
  analyses.invalidate(module, llvm::PreservedAnalyses::none());
}

}  // namespace shunt::jit
