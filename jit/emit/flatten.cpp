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

/// The functions that go are left alone: what matters is in the thunk by now. Whether anything changed.
bool fold(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  auto& functions = analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  bool changed = false;
  for (llvm::Function& f : module) {
    if (f.isDeclaration() || f.hasLocalLinkage()) continue;
    const llvm::PreservedAnalyses kept = passes.run(f, functions);
    changed |= !kept.areAllPreserved();
    functions.invalidate(f, kept);
  }
  return changed;
}

/// Null where the callee is not to be inlined.
llvm::Function* markedCallee(const llvm::CallBase& call) {
  llvm::Function* callee = call.getCalledFunction();
  const bool marked = callee != nullptr && callee->hasFnAttribute(llvm::Attribute::AlwaysInline);
  return marked && !callee->isDeclaration() && callee != call.getFunction() ? callee : nullptr;
}

/// Inlines `call` and what is marked in what came with it, from the top down: so nothing is copied into a function that
/// is copied itself, and what an argument makes constant is known before its callees are copied. LLVM's pass for this
/// goes the other way, and reckons every function's block frequencies anew for every call.
void inlineTree(llvm::CallBase& call) {
  struct Site {
    llvm::CallBase* call;
    int parent;  // whose body the call came from: an index into `done`
  };
  struct Inlined {
    const llvm::Function* callee;
    int parent;
  };
  llvm::SmallVector<Inlined> done;
  llvm::SmallVector<Site> sites = {{&call, -1}};
  while (!sites.empty()) {
    const Site site = sites.pop_back_val();
    llvm::Function* callee = markedCallee(*site.call);
    bool recursive = false;
    for (int at = site.parent; at >= 0; at = done[static_cast<size_t>(at)].parent)
      recursive |= done[static_cast<size_t>(at)].callee == callee;
    if (callee == nullptr || recursive) continue;
    llvm::InlineFunctionInfo info;
    // What it can't inline stays a call.
    if (!llvm::InlineFunction(*site.call, info, /*MergeAttributes=*/true, /*CalleeAAR=*/nullptr,
                              /*InsertLifetime=*/true)
             .isSuccess())
      continue;
    done.push_back({callee, site.parent});
    for (llvm::CallBase* inner : info.InlinedCallSites) sites.push_back({inner, static_cast<int>(done.size()) - 1});
  }
}

template <class Range>
bool dropUnused(Range&& values) {
  bool dropped = false;
  for (auto& value : llvm::make_early_inc_range(values)) {
    if (!value.hasLocalLinkage()) continue;
    value.removeDeadConstantUsers();
    if (!value.use_empty()) continue;
    value.eraseFromParent();
    dropped = true;
  }
  return dropped;
}

/// Functions that were inlined everywhere, and operators' states that nothing looks into any more, with what they name.
void dropUnused(llvm::Module& module) {
  while (dropUnused(module.globals()) || dropUnused(module.functions())) {
  }
}

/// Whether something was inlined into a function that stays.
bool inlineMarked(llvm::Module& module) {
  llvm::SmallVector<llvm::CallBase*> calls;
  bool stays = false;
  for (llvm::Function& f : module) {
    if (!f.hasFnAttribute(llvm::Attribute::AlwaysInline)) continue;
    for (llvm::User* user : f.users()) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(user);
      if (call == nullptr || markedCallee(*call) != &f) continue;
      const llvm::Function& caller = *call->getFunction();
      stays |= !caller.hasLocalLinkage();
      if (!caller.hasFnAttribute(llvm::Attribute::AlwaysInline) || !caller.hasLocalLinkage()) calls.push_back(call);
    }
  }
  if (!stays) return false;
  for (llvm::CallBase* call : calls) inlineTree(*call);
  dropUnused(module);
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
    const bool changed = fold(module, analyses);
    analyses.invalidate(module, llvm::PreservedAnalyses::none());
    return changed;
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
  dropUnused(module);
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
