#include "jit/emit/flatten.h"

#include "jit/emit/planned_calls.h"
#include "jit/host/host_symbols.h"

#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <vector>

namespace shunt::jit {
namespace {

// Chains are not longer: wrappers for ADInplaceOrView, Autograd, Autocast, Python and BackendSelect, and a kernel;
// which may call an operator whose chain is inlined, and so on.
constexpr int kMaxRounds = 4 * 8;

/// The functions that stay are left alone: what matters is in the thunk by now.
void fold(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  auto& functions = analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function& f : module)
    if (!f.isDeclaration() && !f.hasLocalLinkage()) functions.invalidate(f, passes.run(f, functions));
}

// LLVM's pass for this reckons every function's block frequencies anew for every call.
void inlineEverywhere(llvm::Function& f) {
  std::vector<llvm::CallBase*> calls;
  for (llvm::User* user : f.users())
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(user);
        call && call->getCalledFunction() == &f && call->getFunction() != &f)
      calls.push_back(call);
  for (llvm::CallBase* call : calls) {
    llvm::InlineFunctionInfo info;
    // What it can't inline stays a call.
    static_cast<void>(
        llvm::InlineFunction(*call, info, /*MergeAttributes=*/true, /*CalleeAAR=*/nullptr, /*InsertLifetime=*/true));
  }
}

/// Whether something was inlined into a function that stays.
bool inlineMarked(llvm::Module& module) {
  bool found = false;
  for (const llvm::Function& f : module) {
    if (!f.hasFnAttribute(llvm::Attribute::AlwaysInline)) continue;
    for (const llvm::User* user : f.users())
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(user))
        found |= call->getCalledFunction() == &f && !call->getFunction()->hasLocalLinkage();
  }
  if (!found) return false;
  for (llvm::Function& f : module)
    if (f.hasFnAttribute(llvm::Attribute::AlwaysInline) && !f.isDeclaration()) inlineEverywhere(f);
  for (llvm::Function& f : llvm::make_early_inc_range(module))
    if (f.hasLocalLinkage() && f.use_empty()) f.eraseFromParent();
  return true;
}

/// What was marked `later` is to be inlined now; whether there is any.
bool markNext(llvm::Module& module, llvm::StringRef later) {
  bool any = false;
  for (llvm::Function& f : module) {
    if (!f.hasFnAttribute(later)) continue;
    f.removeFnAttr(later);
    f.addFnAttr(llvm::Attribute::AlwaysInline);
    any = true;
  }
  return any;
}

}  // namespace

void flatten(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  // What an inlined operator looks up is known behind branches: a fold removes these, and the next one finds the
  // constants.
  const int most_idle = module.getNamedGlobal(kValidityName) != nullptr ? 2 : 0;
  int idle = 0;
  const auto round = [&] {
    idle = inlineMarked(module) ? 0 : idle + 1;
    if (idle > most_idle) return false;
    fold(module, analyses);
    analyses.invalidate(module, llvm::PreservedAnalyses::none());
    return true;
  };
  for (int i = 0; i < kMaxRounds && round(); ++i) {
  }
  for (const llvm::StringLiteral& next : kInlineGuards) {
    idle = 0;
    if (markNext(module, next)) round();
  }
  for (const llvm::StringLiteral& next : {kInlineLoop, kInlineLate}) {
    idle = 0;
    if (markNext(module, next)) round();
  }
}

void giveBack(llvm::Module& module) {
  for (llvm::Function& f : module) {
    if (f.isDeclaration() || !f.hasLocalLinkage() || !HostSymbols::instance().address(std::string_view(f.getName())))
      continue;
    f.deleteBody();  // and it becomes external
    f.setLinkage(llvm::GlobalValue::ExternalLinkage);
    f.setComdat(nullptr);
    f.setDSOLocal(false);
    f.setVisibility(llvm::GlobalValue::DefaultVisibility);
  }
}

}  // namespace shunt::jit
